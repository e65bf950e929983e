// Rule: one set of numbers, compiled; decides one call against one state. Pure arithmetic: no
// clock, no key, no lock, no allocation, no I/O. The one door to the algorithms of this layer.
//
// THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "limit/concurrency.h"
#include "limit/fixed_window.h"
#include "limit/leaky_bucket.h"
#include "limit/sliding_counter.h"
#include "limit/sliding_log.h"
#include "limit/state.h"
#include "limit/token_bucket.h"
#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::limit {

class Rule {
 public:
  // ERRORS: kInvalid when the state cannot hold these numbers (time from empty to full above 100
  // years), naming the largest that can.
  static Result<Rule> make(const Numbers& numbers);

  const Numbers& numbers() const { return numbers_; }
  std::uint64_t quota() const;

  // Names these numbers for the life of the process: two rules with one serial have equal numbers.
  std::uint64_t serial() const { return serial_; }

  // Whether a key's calls are kept one by one (sliding_log, concurrency). Such a rule decides on a
  // LogView, any other on a State; asking the wrong way aborts. For these, a State's word 1 is the
  // moment of the newest call, and the other words belong to the store.
  bool keeps_log() const;

  // The rule itself, where it is a token bucket: for a store that keeps its state in one word.
  const TokenBucketRule* token_bucket() const { return std::get_if<TokenBucketRule>(&algorithm_); }

  // Decides a call of `cost` against `state` (null: a fresh key). A denied call, and one of cost 0,
  // leaves the state bit for bit as it was, unless a clock had stepped back (see Step).
  Step decide(const State* state, std::uint64_t cost, Instant now) const;
  LogStep decide(const LogView& log, std::uint64_t cost, Instant now) const;

  // Gives `cost` back, clamped at fresh: nothing is left then. Windows give it back in the window
  // that was charged; where `charged_at` is not known, in the one that holds `now`. REQUIRES: not
  // keeps_log(); there the store takes the calls out itself.
  std::optional<State> refund(const State& state, std::uint64_t cost, Instant now,
                              std::optional<Instant> charged_at) const;

  // Takes `cost` though it may not be there, from a fresh key where `state` is null: a bucket then
  // owes it, windows count above their limit. Nothing where that changes nothing: the window that
  // was charged has passed. `charged_at` and REQUIRES as of refund().
  std::optional<State> overdraw(const State* state, std::uint64_t cost, Instant now,
                                std::optional<Instant> charged_at) const;

  // The state of a key that was written under `older` numbers, under these: what is left in buckets
  // stays left, what is used in windows stays used; nothing where it starts fresh. A log keeps its
  // calls.
  std::optional<State> adopt(const Rule& older, const State& state, Instant now) const;

  // The first moment, on timeline(), at which `state` equals fresh; kNeverNs where it never does.
  std::int64_t fresh_at(const State& state) const;
  Timeline timeline() const;
  bool is_fresh(const State& state, Instant now) const {
    return fresh_at(state) <= read(timeline(), now);
  }

 private:
  using Algorithms = std::variant<TokenBucketRule, LeakyBucketRule, FixedWindowRule, SlidingLogRule,
                                  SlidingCounterRule, ConcurrencyRule, Unlimited>;

  Rule(const Numbers& numbers, Algorithms algorithm);

  Numbers numbers_;
  Algorithms algorithm_;
  std::uint64_t serial_;
};

}  // namespace weir::limit
