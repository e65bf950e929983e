// Metrics: counters that cost a thread one addition to a word of its own, summed when somebody
// looks; and the text that Prometheus reads.
//
// A counter is a slot number. Every thread has its own copy of all slots (in blocks, made when
// first touched), so that counting shares no cache line; a Snapshot adds the copies up. What a
// thread counted stays when the thread ends. Series that never moved are not written.
//
// THREADS: counting from any thread; making series and scraping from any thread. Counting takes no
// lock but at a thread's first touch of a block, and that one is never held for longer than it
// takes to add up one block.

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

#include "base/metrics_text.h"
#include "weir/time.h"

namespace weir::metrics {

namespace detail {

// All threads' slots. The number of slots is bounded; past the bound, counters share the first
// kLargestRow slots, which are never written out.
constexpr std::uint32_t kSlotsPerBlock = 4096;
constexpr std::uint32_t kMaxBlocks = 1024;
constexpr std::uint32_t kLargestRow = 128;

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

// A load and a store, not fetch_add: nobody else writes this thread's copy.
inline void add_to(std::atomic<std::uint64_t>& word, std::uint64_t n) {
  word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace detail

class Counter {
 public:
  Counter() = default;
  explicit Counter(std::uint32_t slot) : slot_(slot) {}

  void add(std::uint64_t n = 1) const { detail::add_to(detail::slot_of_this_thread(slot_), n); }
  std::uint64_t value() const;  // summed over all threads
  std::uint32_t slot() const { return slot_; }

 private:
  std::uint32_t slot_ = 0;
};

// Counters side by side, so that a thread finds its copies of all of them at once.
class Row {
 public:
  Row() = default;
  // Takes `size` slots, at most detail::kLargestRow. Past the bound on slots the row counts, but
  // counted() is false and nobody reads it.
  static Row take(std::uint32_t size);

  // This thread's copy of the first; the others follow.
  std::atomic<std::uint64_t>* here() const { return &detail::slot_of_this_thread(first_); }
  std::uint32_t first() const { return first_; }
  bool counted() const { return first_ != 0; }

 private:
  std::uint32_t first_ = 0;
};

// All counters as they stood at one time, more or less: each one exactly, one after the other.
class Snapshot {
 public:
  Snapshot();
  std::uint64_t operator[](std::uint32_t slot) const {
    return slot < sums_.size() ? sums_[slot] : 0;
  }

 private:
  std::vector<std::uint64_t> sums_;
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

// What a histogram over `bounds` has counted, whose row begins at `first`: a slot for each bound,
// one for above all of them, one for the sum in billionths.
HistogramCounts read_histogram(const Snapshot& snapshot, std::uint32_t first,
                               const std::vector<double>& bounds);
inline std::uint32_t histogram_slots(const std::vector<double>& bounds) {
  return static_cast<std::uint32_t>(bounds.size()) + 2;
}

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

  // A family whose series somebody else knows: `write` is asked at each scrape to write them all.
  using Write = std::function<void(const Snapshot& snapshot, TextWriter& out)>;
  void family_from(std::string_view name, std::string_view help, Type type, Write write);

  // All series as text. Takes milliseconds where there are thousands: not for an event loop.
  std::string to_text(Format format = Format::kPrometheus) const;

  // The counters of one family that moved, with their labels.
  std::vector<std::pair<Labels, std::uint64_t>> counters(std::string_view name,
                                                         const Snapshot& snapshot) const;
  // All series of one histogram together, with its bounds; null where there is none.
  std::pair<const std::vector<double>*, HistogramCounts> histogram_sum(
      std::string_view name, const Snapshot& snapshot) const;

 private:
  struct Series;
  struct Family;

  Family& family(std::string_view name, std::string_view help, Type type);
  Series& series(Family& of, const Labels& labels, std::uint32_t slots);

  // Held while series are made and listed, never while they are read or written: what is listed
  // stays where it is.
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
};

}  // namespace weir::metrics
