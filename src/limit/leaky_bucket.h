// Leaky bucket: calls leave through slots 1/rate apart, without a burst; at most `queue` calls
// wait.
//
// With w the wait for the next free slot, a call of cost n is admitted when its last slot is at
// most queue slots away: w + (n - 1)/rate <= queue/rate. That is w + n/rate <= (queue + 1)/rate: a
// token bucket of queue + 1 tokens, whose missing tokens are the slots already taken. So this is
// one, which tells an admitted call to wait for w (`delay`).
//
// Rate 0 has one slot, now, and no further one: the first call takes everything, and a refund gives
// it back.
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <optional>

#include "limit/state.h"
#include "limit/token_bucket.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

class LeakyBucketRule {
 public:
  // ERRORS: as TokenBucketRule::make(), for queue + 1 tokens.
  static Result<LeakyBucketRule> make(const LeakyBucket& numbers);

  std::uint64_t quota() const { return slots_.quota(); }

  Step decide(const State* state, std::uint64_t cost, std::int64_t now) const;

  std::optional<State> refund(const State& state, std::uint64_t cost, std::int64_t now) const {
    return slots_.refund(state, frozen_ && cost > 0 ? quota() : cost, now);
  }
  State overdraw(const State* state, std::uint64_t cost, std::int64_t now) const {
    return slots_.overdraw(state, frozen_ && cost > 0 ? quota() : cost, now);
  }
  std::optional<State> adopt(const LeakyBucketRule& older, const State& state,
                             std::int64_t now) const {
    return slots_.adopt(older.slots_, state, now);
  }
  std::int64_t fresh_at(const State& state) const { return slots_.fresh_at(state); }

 private:
  LeakyBucketRule(TokenBucketRule slots, bool frozen) : slots_(slots), frozen_(frozen) {}

  TokenBucketRule slots_;
  bool frozen_;  // rate 0
};

}  // namespace weir::limit
