// Token bucket: starts full with `burst` tokens, refills continuously at `rate`, never above.
//
// Kept as one point in time, the instant at which the bucket will be full again (the "theoretical
// arrival time" of GCRA). A call of cost n moves it n token intervals further; it is admitted when
// the point then lies at most one time-to-full ahead of now.
//
// Four deviations from the textbook:
// 1. Exact at every rate. One token takes period/count nanoseconds; reduced to step/unit, time is
//    counted in ticks of 1/unit ns, so that nothing is ever rounded: word 0 holds whole
//    nanoseconds, word 1 the remaining ticks (0 to unit - 1). What is told is rounded up to 1 ns.
// 2. Rate 0 is a value: time does not pass (unit 0), and word 0 holds the tokens taken.
// 3. A point further ahead than one time-to-full, left by a clock that ran ahead, is brought back
//    to it, also by a call that is denied: else it would be denied until that clock is caught up.
// 4. A bucket can owe tokens (overdraw()): the point then lies further ahead, and word 2 says by
// how
//    many nanoseconds it may, which is what tells it from a clock that ran ahead.
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <optional>

#include "base/wide.h"
#include "limit/state.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

class TokenBucketRule {
 public:
  // ERRORS: kInvalid where period <= 0, or filling up takes more than 100 years.
  static Result<TokenBucketRule> make(const TokenBucket& numbers);

  std::uint64_t quota() const { return burst_; }
  std::uint64_t step() const { return step_; }
  std::uint64_t unit() const { return unit_; }
  Wide capacity() const { return capacity_; }

  // `state` null is a fresh key.
  Step decide(const State* state, std::uint64_t cost, std::int64_t now) const;

  // How long a call at `now` waits for the bucket to be full: the delay of a leaky bucket.
  Duration wait(const State* state, std::int64_t now) const;

  // Nothing where the key is fresh afterwards.
  std::optional<State> refund(const State& state, std::uint64_t cost, std::int64_t now) const;

  // Takes `cost` though it may not be there. The bucket then owes tokens, and admits nothing before
  // it has them again; it owes 100 years of refilling at most, and one that never refills nothing.
  State overdraw(const State* state, std::uint64_t cost, std::int64_t now) const;

  // What was left under `older` stays left, at most the new burst; a full bucket stays full, and
  // what one owed is forgotten. Where the numbers say keeps_time, the time until full stays
  // instead.
  std::optional<State> adopt(const TokenBucketRule& older, const State& state,
                             std::int64_t now) const;

  // The first nanosecond at which `state` equals fresh.
  std::int64_t fresh_at(const State& state) const;

 private:
  // How much is missing, in ticks.
  struct Debt {
    Wide ticks = 0;
    bool clamped = false;
  };

  TokenBucketRule(const TokenBucket& numbers, std::uint64_t step, std::uint64_t unit)
      : burst_(numbers.burst),
        step_(step),
        unit_(unit),
        capacity_(wide_product(burst_, step)),
        keeps_time_(numbers.keeps_time) {}

  Debt debt_of(const State* state, std::int64_t now) const;
  Wide most_debt() const;
  State encode(Wide debt, std::int64_t now) const;
  std::int64_t ns_for(Wide ticks) const;  // rounded up; kNeverNs where time does not help
  void report(Wide debt, Verdict& verdict) const;

  std::uint64_t burst_;
  std::uint64_t step_;  // ticks that one token takes
  std::uint64_t unit_;  // ticks in a nanosecond; 0: never refills
  Wide capacity_;       // ticks from empty to full
  bool keeps_time_;
};

}  // namespace weir::limit
