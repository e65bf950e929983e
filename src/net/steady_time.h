// The monotonic clock, for deadlines of calls to other machines. Decisions take an Instant instead.
//
// THREADS: any.

#pragma once

#include <chrono>
#include <cstdint>

#include "weir/time.h"

namespace weir::net {

using SteadyPoint = std::chrono::steady_clock::time_point;

inline std::int64_t steady_ns() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline SteadyPoint steady_point(std::int64_t ns) {
  return SteadyPoint(std::chrono::duration_cast<SteadyPoint::duration>(Duration(ns)));
}

}  // namespace weir::net
