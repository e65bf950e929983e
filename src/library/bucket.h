// Bucket: one token bucket that can also owe tokens, for reservations and penalties.
//
// Kept as what is missing at one moment: (time, debt), the debt in ticks of 1/unit ns as in
// limit/token_bucket.h, so that nothing is ever rounded. `time` is the latest moment the bucket was
// told, its high-water mark: earlier samples count as it. A debt above the capacity is what callers
// wait for. Same answers as limit::TokenBucketRule, which refuses what it cannot hold for both.
//
// No clock, no lock. THREADS: plain values.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/wide.h"
#include "limit/state.h"
#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::library {

// The numbers of a bucket, compiled.
struct Shape {
  std::uint64_t burst = 0;
  std::uint64_t step = 1;    // ticks that one token takes
  std::uint64_t unit = 0;    // ticks in a nanosecond; 0: never refills
  std::int64_t full_ns = 0;  // from empty to full, rounded up

  // ERRORS: those of limit::TokenBucketRule::make().
  static Result<Shape> make(const TokenBucket& numbers);

  Wide capacity() const { return wide_product(burst, step); }
  Wide ticks(std::uint64_t tokens) const { return wide_product(tokens, step); }
  // Rounded up; limit::kNeverNs where time does not help.
  std::int64_t ns_for(Wide ticks) const;
  // The most that a bucket may owe: 100 years of refilling. Bounds reservations and penalties.
  Wide most_debt() const;
};

// How full a bucket is.
struct Level {
  std::int64_t time = limit::kEarliestNs;
  Wide debt = 0;
};

// `level` at `now`, or at its own time where that is later.
inline Level advanced(Level level, const Shape& shape, std::int64_t now) {
  if (now <= level.time) return level;
  const auto elapsed = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(level.time);
  const Wide back = wide_product(elapsed, shape.unit);
  return Level{now, back >= level.debt ? 0 : level.debt - back};
}

// What the bucket shows at its time: quota, remaining, reset_after, next_after.
Verdict shown(const Shape& shape, const Level& level);

// The answer to a call of `cost` that was refused at this level: not yet, or never.
Verdict refused(const Shape& shape, const Level& level, std::uint64_t cost);

}  // namespace weir::library
