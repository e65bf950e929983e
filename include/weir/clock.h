// Clock: the only door through which time enters, and the only one at which a thread waits for it.
//
// A limiter that is not told `now` asks its clock. SystemClock is what programs use; TscClock reads
// faster where the processor allows; ManualClock stands still until it is moved, and wakes those
// who wait for what it then shows, so that code which waits can be tested without waiting.
//
// THREADS: everything here from any thread.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "weir/export.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

// Where one thread waits until it is woken. A wake that comes first is kept.
class WEIR_API Parking {
 public:
  void wake();
  // Until woken, or until the steady clock of the machine shows `deadline`.
  void wait_until(std::chrono::steady_clock::time_point deadline);
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

class WEIR_API Clock {
 public:
  virtual ~Clock() = default;

  virtual Instant now() const = 0;
  // now().steady_ns, for those who need no more.
  virtual std::int64_t steady_ns() const { return now().steady_ns; }

  // Blocks until `parking` is woken, or steady_ns() is at least `until_ns`.
  virtual void park(Parking& parking, std::int64_t until_ns) const;
};

// The machine's clocks: CLOCK_MONOTONIC mapped to the Unix epoch once, and CLOCK_REALTIME.
class WEIR_API SystemClock final : public Clock {
 public:
  SystemClock();
  Instant now() const override;
  std::int64_t steady_ns() const override;

 private:
  std::int64_t offset_ns_;  // wall - monotonic at construction
};

// The one SystemClock that limiters share unless given another.
WEIR_API const Clock& system_clock();

// The processor's time-stamp counter, held to CLOCK_MONOTONIC: several times a second, by whichever
// thread reads it then. Between two of these it strays by the error of its calibration, some parts
// in a million. now().wall_ns is the steady reading: a step of the wall clock is not seen.
class WEIR_API TscClock final : public Clock {
 public:
  // True where the counter runs at one speed through all states of the processor.
  static bool usable();

  // Measures the counter's speed, for 2 ms. Where it is not usable(), reads as SystemClock does.
  TscClock();
  Instant now() const override { return at_ns(steady_ns()); }
  std::int64_t steady_ns() const override;

 private:
  // From `tsc` on, time is `ns` + (counter - tsc) x speed / 2^32.
  struct Line {
    std::uint64_t tsc = 0;
    std::int64_t ns = 0;
    std::uint64_t speed = 0;
  };

  std::int64_t beyond(const Line& line, std::uint64_t tsc) const;
  // Renews the line, if nobody else is about it. Returns `now`, which its callers then need not
  // keep: readings are fast because they keep nothing.
  std::int64_t adjust(std::uint64_t tsc, std::int64_t now) const;

  bool usable_ = false;
  SystemClock truth_;
  Line first_;  // the longest base for the speed
  std::uint64_t renew_after_ = 0;
  mutable std::mutex adjusting_;
  mutable std::atomic<std::uint32_t> version_{0};  // odd while the line is being changed
  mutable std::atomic<std::uint64_t> tsc_{0};
  mutable std::atomic<std::int64_t> ns_{0};
  mutable std::atomic<std::uint64_t> speed_{0};
};

// A clock that stands still until it is told to move: tests, replays, --test-clock.
class WEIR_API ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start) : steady_ns_(start.steady_ns), wall_ns_(start.wall_ns) {}

  Instant now() const override { return Instant{steady_ns_.load(), wall_ns_.load()}; }
  void park(Parking& parking, std::int64_t until_ns) const override;

  // Wakes those threads in park() whose time has come, and no other.
  void set(Instant t);

  // Blocks until `count` threads or more are in park().
  void await_parked(std::size_t count) const;
  // How many times set() has woken a thread.
  std::uint64_t wakes() const { return wakes_.load(); }

 private:
  struct Parked {
    Parking* parking;
    std::int64_t until_ns;
  };

  std::atomic<std::int64_t> steady_ns_;
  std::atomic<std::int64_t> wall_ns_;
  std::atomic<std::uint64_t> wakes_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  mutable std::vector<Parked> parked_;  // as many as threads that wait
};

}  // namespace weir
