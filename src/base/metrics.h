// Metrics: counters that cost a thread one addition to a word of its own, summed when somebody
// looks; and the text that Prometheus reads.
//
// A counter is a slot number. Every thread has its own copy of all slots (in blocks, made when
// first touched), so that counting shares no cache line; a scrape adds the copies up. What a thread
// counted stays when the thread ends. Series that never moved are not written.
//
// THREADS: counting from any thread; making series and scraping from any thread, under a lock that
// counting never takes.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::metrics {

namespace detail {

// All threads' slots. The number of slots is bounded; past the bound, counters share slot 0, which
// is never written out.
constexpr std::uint32_t kSlotsPerBlock = 4096;
constexpr std::uint32_t kMaxBlocks = 1024;

struct ThreadSlots {
  std::atomic<std::atomic<std::uint64_t>*> blocks[kMaxBlocks] = {};
  ~ThreadSlots();
};

extern thread_local constinit ThreadSlots* thread_slots;
std::atomic<std::uint64_t>* make_block(std::uint32_t slot);

inline std::atomic<std::uint64_t>& slot_of_this_thread(std::uint32_t slot) {
  std::atomic<std::uint64_t>* block = nullptr;
  if (thread_slots != nullptr) {
    block = thread_slots->blocks[slot / kSlotsPerBlock].load(std::memory_order_relaxed);
  }
  if (block == nullptr) block = make_block(slot);
  return block[slot % kSlotsPerBlock];
}

}  // namespace detail

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  Counter() = default;
  explicit Counter(std::uint32_t slot) : slot_(slot) {}

  void add(std::uint64_t n = 1) const {
    // A load and a store, not fetch_add: nobody else writes this thread's copy.
    auto& value = detail::slot_of_this_thread(slot_);
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const;  // summed over all threads
  std::uint32_t slot() const { return slot_; }

 private:
  std::uint32_t slot_ = 0;
};

// A histogram of durations or shares over fixed bounds.
class Histogram {
 public:
  Histogram() = default;
  Histogram(const std::vector<double>* bounds, std::uint32_t first_slot)
      : bounds_(bounds), first_slot_(first_slot) {}

  // `value` in the unit of the bounds; `scaled` the same in billionths, for the exact sum.
  void observe(Duration value) const { observe_scaled(value.count()); }
  void observe_scaled(std::int64_t billionths) const;

 private:
  const std::vector<double>* bounds_ = nullptr;
  std::uint32_t first_slot_ = 0;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The series of that name and these labels, made at first sight. The same call gives the same
  // series. Names follow Prometheus' rules; a counter's ends in _total.
  Counter counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram histogram(std::string_view name, std::string_view help,
                      const std::vector<double>& bounds, const Labels& labels = {});
  // `read` is asked at each scrape.
  void gauge(std::string_view name, std::string_view help, const Labels& labels,
             std::function<double()> read);

  // A counter that somebody else keeps; `read` is asked at each scrape.
  void counter_from(std::string_view name, std::string_view help,
                    std::function<std::uint64_t()> read);

  // All series as Prometheus text (version 0.0.4).
  std::string to_text() const;

 private:
  struct Series;
  struct Family;

  Family& family(std::string_view name, std::string_view help, std::string_view type);
  Series& series(Family& of, const Labels& labels, std::uint32_t slots);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
};

}  // namespace weir::metrics
