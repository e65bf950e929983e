// Concurrency: calls in flight. A call leaves when it is released, or at its timeout, so that a
// caller who died holds its place no longer than that.
//
// The calls are kept as a sliding log whose window is the timeout, from which a release takes a
// call out early (store: refund). How long others will take is not known: a denial tells, as
// retry_after with retry_known false, when enough calls will have timed out at the latest.
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstdint>

#include "limit/sliding_log.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

class ConcurrencyRule {
 public:
  // ERRORS: as SlidingLogRule::make().
  static Result<ConcurrencyRule> make(const Concurrency& numbers);

  std::uint64_t quota() const { return calls_.quota(); }
  std::int64_t window() const { return calls_.window(); }

  LogStep decide(const LogView& log, std::uint64_t cost, std::int64_t now) const;

 private:
  explicit ConcurrencyRule(SlidingLogRule calls) : calls_(calls) {}

  SlidingLogRule calls_;
};

}  // namespace weir::limit
