// HighWater: the latest moment a store has been told. Earlier samples count as it.
//
// Ordered by the steady clock. The wall clock is kept as its distance from it, so that a late
// sample cannot turn the wall clock back, and a real step of the wall clock is followed.
//
// THREADS: any. A key's decisions never see time go back if each is made under a lock of the key
// and reads now() there, after raise().

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "limit/state.h"
#include "weir/time.h"

namespace weir::store {

class HighWater {
 public:
  // `alone`: nobody else is in here.
  void raise(Instant now, bool alone = false) {
    std::int64_t seen = steady_.load(std::memory_order_relaxed);
    if (now.steady_ns < seen) return;
    const std::int64_t steady = std::min(now.steady_ns, limit::kLatestNs);  // `seen` is in reach
    if (alone) {
      steady_.store(steady, std::memory_order_release);
      seen = steady;
    }
    while (steady > seen &&
           !steady_.compare_exchange_weak(seen, steady, std::memory_order_acq_rel)) {
    }
    if (steady < seen) return;
    // Relaxed: any recent distance between the two clocks is right.
    const std::uint64_t ahead = bits(now.wall_ns) - bits(steady);
    if (ahead_.load(std::memory_order_relaxed) != ahead) keep_ahead(now.wall_ns, steady);
  }

  // REQUIRES, for all below: raise() was called.
  Instant now() const { return at(steady_ns()); }
  std::int64_t steady_ns() const { return steady_.load(std::memory_order_acquire); }
  // A steady reading that the mark has shown, with the wall clock's.
  Instant at(std::int64_t steady) const {
    const std::uint64_t wall = bits(steady) + ahead_.load(std::memory_order_relaxed);
    return Instant{steady, limit::within_reach(static_cast<std::int64_t>(wall))};
  }

 private:
  // Differences of instants may need 65 bits: they wrap, and wrap back when added.
  static std::uint64_t bits(std::int64_t ns) { return static_cast<std::uint64_t>(ns); }

  void keep_ahead(std::int64_t wall, std::int64_t steady) {
    const std::uint64_t ahead = bits(limit::within_reach(wall)) - bits(steady);
    if (ahead_.load(std::memory_order_relaxed) != ahead) {
      ahead_.store(ahead, std::memory_order_relaxed);
    }
  }

  std::atomic<std::int64_t> steady_{limit::kEarliestNs};
  std::atomic<std::uint64_t> ahead_{0};  // wall - steady
};

}  // namespace weir::store
