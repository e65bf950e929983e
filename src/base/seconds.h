// Between nanoseconds, in which weir counts, and the units that others speak of: whole seconds in
// protocols, microseconds on Redis.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>

#include "weir/time.h"

namespace weir {

inline constexpr std::int64_t kNsPerUs = 1'000;
inline constexpr std::int64_t kNsPerMs = 1'000'000;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// Whole seconds, rounded up. REQUIRES: not negative.
constexpr std::uint64_t ceil_seconds(Duration duration) {
  const auto ns = static_cast<std::uint64_t>(duration.count());
  return ns / kNsPerSecond + (ns % kNsPerSecond != 0 ? 1 : 0);
}

}  // namespace weir
