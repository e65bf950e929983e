// Time, as weir is told it. No algorithm reads a clock: every decision takes an Instant.
//
// THREADS: plain values.

#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::nanoseconds;

// One moment, as two clocks saw it. Both count nanoseconds.
struct Instant {
  // A clock that never steps, mapped to the Unix epoch once, when the process started: it equals
  // the wall clock at that moment and runs on by itself. Buckets, logs and sliding counters use it,
  // so that windows align to the epoch and yet no step of the wall clock can reach them.
  std::int64_t steady_ns = 0;
  // The wall clock: nanoseconds since the Unix epoch. Fixed windows and the Unix times in headers.
  std::int64_t wall_ns = 0;

  friend bool operator==(const Instant&, const Instant&) = default;
};

// An Instant at which both clocks show `ns`: what tests and replays mean by "at t".
constexpr Instant at_ns(std::int64_t ns) {
  return Instant{ns, ns};
}

constexpr Instant operator+(Instant t, Duration d) {
  return Instant{t.steady_ns + d.count(), t.wall_ns + d.count()};
}

}  // namespace weir
