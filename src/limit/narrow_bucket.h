// NarrowBucket: a token bucket whose whole state is one word of 64 bits: the arrival time, in ticks
// of 1/unit ns after an epoch of the store.
//
//   debt = max(0, arrival - now x unit)      admits when debt + cost x step <= burst x step
//
// The same answers, tick for tick, as TokenBucketRule, of which it is made; only the width differs.
// Holds buckets of less than 2^61 ticks from empty to full, until 2^62 ticks after the epoch (146
// years at whole nanoseconds a tick, 5 at 29 ticks a nanosecond); what is beyond stays with the
// wide form. Rate 0 has no arrival time, and stays there too, as does a bucket that owes tokens.
//
// No clock, no key, no lock. THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>

#include "base/wide.h"
#include "limit/state.h"
#include "limit/token_bucket.h"
#include "weir/decision.h"

namespace weir::limit {

class NarrowBucket {
 public:
  static constexpr std::uint64_t kMaxTicks = std::uint64_t{1} << 62;

  static bool can_hold(const TokenBucketRule& rule) {
    return rule.unit() != 0 && rule.capacity() < kMaxTicks / 2;
  }

  // REQUIRES: can_hold(rule).
  explicit NarrowBucket(const TokenBucketRule& rule)
      : NarrowBucket(rule.quota(), rule.step(), rule.unit()) {}
  // The same by its numbers: a token takes `step` ticks, of which `unit` come back in a nanosecond.
  NarrowBucket(std::uint64_t burst, std::uint64_t step, std::uint64_t unit)
      : burst_(burst),
        step_(step),
        unit_(unit),
        capacity_(burst * step),
        reach_ns_(unit_ == 1 ? kMaxTicks - 1 : (kMaxTicks - 1) / unit_) {}

  std::uint64_t capacity() const { return capacity_; }

  // Whether a moment so many ns after the epoch has a number of ticks that counts; none before the
  // epoch has.
  bool reaches(std::int64_t since_epoch) const {
    return static_cast<std::uint64_t>(since_epoch) <= reach_ns_;
  }
  // The ticks from the epoch to then. REQUIRES: reaches(since_epoch).
  std::uint64_t ticks(std::int64_t since_epoch) const {
    return static_cast<std::uint64_t>(since_epoch) * unit_;
  }

  // What is missing, `since_epoch` ns after the epoch, in reach or not.
  std::uint64_t debt(std::uint64_t arrival, std::int64_t since_epoch) const {
    const Wide ticks = wide_product(static_cast<std::uint64_t>(since_epoch), unit_);
    return arrival <= ticks ? 0 : arrival - static_cast<std::uint64_t>(ticks);
  }

  struct Step {
    std::uint64_t debt = 0;  // after the call; as it was, where it was refused
    bool admitted = false;
  };

  // REQUIRES: debt <= capacity().
  Step decide(std::uint64_t debt, std::uint64_t cost) const {
    if (cost > burst_) return Step{debt, false};
    const std::uint64_t after = debt + cost * step_;
    const bool admitted = after <= capacity_;
    return Step{admitted ? after : debt, admitted};
  }

  // What the caller is told of it. WHY apart: it divides, which who wants a yes or no need not pay
  // for, nor who has to decide again because another was faster.
  Verdict verdict(const Step& step, std::uint64_t cost) const {
    Verdict verdict;
    if (!step.admitted && cost > burst_) {
      verdict.outcome = Outcome::kNever;
    } else if (!step.admitted) {
      verdict.outcome = Outcome::kDenied;
      verdict.retry_after = ns_for(step.debt + cost * step_ - capacity_);
    }
    report(step.debt, verdict);
    return verdict;
  }

  // What is left, without the times.
  std::uint64_t remaining(std::uint64_t debt) const { return (capacity_ - debt) / step_; }
  std::uint64_t quota() const { return burst_; }
  Duration ns_for(std::uint64_t ticks) const {
    if (unit_ == 1) return Duration(ticks);
    return Duration(ticks / unit_ + (ticks % unit_ == 0 ? 0 : 1));
  }

  // The two forms of one state. Nothing where the word cannot hold it.
  State widen(std::uint64_t arrival, std::int64_t epoch) const {
    State state;
    state.word[0] = static_cast<std::uint64_t>(epoch) + arrival / unit_;
    state.word[1] = arrival % unit_;
    return state;
  }
  std::optional<std::uint64_t> narrow(const State& state, std::int64_t epoch) const {
    const std::uint64_t ahead = state.word[0] - static_cast<std::uint64_t>(epoch);
    if (static_cast<std::int64_t>(state.word[0]) < epoch || state.word[2] != 0) return std::nullopt;
    const Wide arrival = wide_product(ahead, unit_) + state.word[1];
    if (arrival >= 2 * kMaxTicks) return std::nullopt;
    return static_cast<std::uint64_t>(arrival);
  }

 private:
  void report(std::uint64_t debt, Verdict& verdict) const {
    verdict.quota = burst_;
    const std::uint64_t left = capacity_ - debt;
    verdict.remaining = left / step_;
    verdict.reset_after = ns_for(debt);
    if (verdict.remaining == burst_) return;
    verdict.next_after = ns_for((verdict.remaining + 1) * step_ - left);
  }

  std::uint64_t burst_;
  std::uint64_t step_;  // ticks that one token takes
  std::uint64_t unit_;  // ticks in a nanosecond
  std::uint64_t capacity_;
  std::uint64_t reach_ns_;  // after the epoch: the last moment before 2^62 ticks
};

}  // namespace weir::limit
