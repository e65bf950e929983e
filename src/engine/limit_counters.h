// LimitCounters: what is counted of one limit: each decision by outcome and source, how long
// refused calls were told to wait, how full its buckets are.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "engine/wait_bounds.h"
#include "weir/decision.h"

namespace weir::engine {

enum class LimitOutcome : std::uint8_t { kAllowed, kDenied, kPassed, kShadowDenied };
inline constexpr std::size_t kLimitOutcomes = 4;
inline constexpr std::size_t kSources = 8;

std::string_view to_string(LimitOutcome outcome);

// The bounds of weir_retry_after_seconds and of weir_tokens_ratio.
extern const std::vector<double> kWaitBounds;
extern const std::vector<double> kFullnessBounds;

// The counters of one limit: a row, so that a decision finds all that it moves at once.
class LimitCounters {
 public:
  LimitCounters();

  // `admitted`: whether the request as a whole was. How full the counter is goes into the histogram
  // for one decision in eight of each outcome.
  // WHY in the header: it is on every decision's way, and a call would be a quarter of it.
  void count(const Verdict& verdict, Source source, bool shadow, bool admitted) const;

  std::uint64_t decisions(const metrics::Snapshot& snapshot, LimitOutcome outcome,
                          Source source) const;
  metrics::HistogramCounts fullness(const metrics::Snapshot& snapshot) const;
  metrics::HistogramCounts waits(const metrics::Snapshot& snapshot) const;

 private:
  // Where in the row each part begins.
  static constexpr std::uint32_t kFullness = kLimitOutcomes * kSources;
  static constexpr std::uint32_t kFullnessSlots = 9;
  static constexpr std::uint32_t kWaits = kFullness + kFullnessSlots;
  static constexpr std::uint32_t kWaitSlots = 16;

  // This thread's copy of the row; null where it has none yet.
  std::atomic<std::uint64_t>* touched() const;
  std::atomic<std::uint64_t>* first_touch() const;
  static void count_outcome(LimitOutcome outcome, const Verdict& verdict, Source source,
                            std::atomic<std::uint64_t>* words);
  static void count_wait(Duration wait, std::atomic<std::uint64_t>* words);
  static void count_fullness(const Verdict& verdict, Source source,
                             std::atomic<std::uint64_t>* words);

  metrics::Row row_;
  // Where a thread's copy of it lies: the block, and the place in it.
  std::uint32_t block_;
  std::uint32_t place_;
};

inline std::atomic<std::uint64_t>* LimitCounters::touched() const {
  const auto* const slots = metrics::detail::thread_slots;
  if (slots == nullptr) return nullptr;
  auto* const block = slots->blocks[block_].load(std::memory_order_relaxed);
  return block == nullptr ? nullptr : block + place_;
}

inline void LimitCounters::count(const Verdict& verdict, Source source, bool shadow,
                                 bool admitted) const {
  std::atomic<std::uint64_t>* words = touched();
  if (words == nullptr) [[unlikely]]
    words = first_touch();
  // WHY three ways that look alike: each is then a straight one.
  if (verdict.allowed()) {
    const LimitOutcome outcome = admitted ? LimitOutcome::kAllowed : LimitOutcome::kPassed;
    return count_outcome(outcome, verdict, source, words);
  }
  if (shadow) [[unlikely]] {
    return count_outcome(LimitOutcome::kShadowDenied, verdict, source, words);
  }
  if (verdict.outcome == weir::Outcome::kDenied) [[likely]] {
    if (verdict.retry_known) [[likely]]
      count_wait(verdict.retry_after, words + kWaits);
  }
  count_outcome(LimitOutcome::kDenied, verdict, source, words);
}

inline void LimitCounters::count_outcome(LimitOutcome outcome, const Verdict& verdict,
                                         Source source, std::atomic<std::uint64_t>* words) {
  auto& counted =
      words[static_cast<std::size_t>(outcome) * kSources + static_cast<std::size_t>(source)];
  const std::uint64_t turn = counted.load(std::memory_order_relaxed);
  counted.store(turn + 1, std::memory_order_relaxed);
  // One decision in eight, the first of them, and spread so that no rhythm of the calls meets the
  // same ones always: the multiples of the golden ratio, as Fibonacci hashing has them.
  const bool looked_at = static_cast<std::uint32_t>(turn) * 0x9E3779B9U < 0x20000000U;
  if (looked_at) [[unlikely]]
    count_fullness(verdict, source, words + kFullness);
}

inline void LimitCounters::count_wait(Duration wait, std::atomic<std::uint64_t>* words) {
  metrics::detail::add_to(words[place_of_wait(wait.count())], 1);
  metrics::detail::add_to(words[kWaitSlots - 1], static_cast<std::uint64_t>(wait.count()));
}

}  // namespace weir::engine
