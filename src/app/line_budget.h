// LineBudget: at most so many lines of the log a second, and how many had to be left out.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/seconds.h"

namespace weir::app {

class LineBudget {
 public:
  // Whether one more line may be written. `now_ns`: monotonic.
  bool take(std::int64_t now_ns, std::uint32_t most) {
    const std::int64_t second = now_ns / kNsPerSecond;
    if (second_.exchange(second, std::memory_order_relaxed) != second) {
      written_.store(0, std::memory_order_relaxed);
    }
    if (written_.fetch_add(1, std::memory_order_relaxed) < most) return true;
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // How many were refused since the last look.
  std::uint64_t take_left_out() { return left_out_.exchange(0, std::memory_order_relaxed); }

 private:
  // Relaxed: a line more or less at the turn of a second does no harm.
  std::atomic<std::int64_t> second_{-1};
  std::atomic<std::uint32_t> written_{0};
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace weir::app
