// Clock: the only door through which time enters. Everything below the listeners takes an Instant.
//
// THREADS: now() from any thread.

#pragma once

#include <atomic>

#include "weir/time.h"

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

// The machine's clocks: CLOCK_MONOTONIC mapped to the Unix epoch once, and CLOCK_REALTIME.
class SystemClock final : public Clock {
 public:
  SystemClock();
  Instant now() const override;

 private:
  std::int64_t offset_ns_;  // wall - monotonic at construction
};

// A clock that stands still until it is told to move: tests, replays, --test-clock.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start) : steady_ns_(start.steady_ns), wall_ns_(start.wall_ns) {}

  Instant now() const override { return Instant{steady_ns_.load(), wall_ns_.load()}; }
  void set(Instant t) {
    steady_ns_.store(t.steady_ns);
    wall_ns_.store(t.wall_ns);
  }

 private:
  std::atomic<std::int64_t> steady_ns_;
  std::atomic<std::int64_t> wall_ns_;
};

}  // namespace weir
