// Waiting: one place in a limiter's queue.
//
// Where the limiter is a lone bucket, the place holds tokens taken ahead of time, so that its turn
// is known to the nanosecond from the start, and nobody who comes later can take them; while the
// limiter is blocked nobody holds any, and who waited through it holds as it ends, in order. Where
// it is not, only the first in the queue asks, and nobody else may take while somebody waits.
//
// THREADS: guarded by the limiter's lock, but for `parking`, and `wake_at`, which its owner alone
// reads and writes.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <optional>

#include "library/bucket.h"
#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/limiter.h"

namespace weir::library {

struct Waiting {
  Waiter::State state = Waiter::State::kWaiting;
  std::uint64_t cost = 1;
  std::int64_t deadline = std::numeric_limits<std::int64_t>::max();  // steady
  std::int64_t wake_at = 0;
  // A lone bucket:
  bool holds = false;
  std::uint64_t order = 0;  // the number of what it holds, among all that was taken ahead of time
  Level turn;               // what the bucket owes for this one's tokens and all taken before
  std::list<Waiting*>::iterator place;
  // Admitted:
  bool told = false;             // its owner knows
  std::uint64_t generation = 0;  // of the counters that were charged
  std::optional<Instant> charged_at;
  Verdict verdict;
  std::function<void()> changed;
  Parking parking;

  void wake() {
    parking.wake();
    if (changed) changed();
  }
};

}  // namespace weir::library
