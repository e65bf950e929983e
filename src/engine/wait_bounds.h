// The bounds of weir_retry_after_seconds, and where among them a wait belongs.
//
// THREADS: constants.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/seconds.h"

namespace weir::engine {

// From a tenth of a second to a day.
inline constexpr std::array<std::int64_t, 14> kWaitBoundsNs = {
    100 * kNsPerMs,        250 * kNsPerMs,       500 * kNsPerMs,     1 * kNsPerSecond,
    2'500 * kNsPerMs,      5 * kNsPerSecond,     10 * kNsPerSecond,  30 * kNsPerSecond,
    60 * kNsPerSecond,     300 * kNsPerSecond,   900 * kNsPerSecond, 3'600 * kNsPerSecond,
    21'600 * kNsPerSecond, 86'400 * kNsPerSecond};

// Of the waits with the same highest bit: the next bound, and how many bounds all of them are
// above. Each bound is twice the one before it, at least, so that between a power of two and the
// next there is one at most, and one comparison more tells the place.
struct NextBounds {
  std::array<std::int64_t, 64> ns{};
  std::array<std::size_t, 64> below{};
};
inline constexpr auto kNextBounds = [] {
  NextBounds next;
  next.ns.fill(std::numeric_limits<std::int64_t>::max());
  for (std::size_t bit = 0; bit < 63; ++bit) {
    const std::int64_t least = bit == 0 ? 0 : std::int64_t{1} << bit;
    std::size_t& below = next.below[bit];
    while (below < kWaitBoundsNs.size() && kWaitBoundsNs[below] < least) ++below;
    if (below < kWaitBoundsNs.size()) next.ns[bit] = kWaitBoundsNs[below];
  }
  return next;
}();
constexpr bool bounds_double() {
  for (std::size_t i = 1; i < kWaitBoundsNs.size(); ++i) {
    if (kWaitBoundsNs[i] < 2 * kWaitBoundsNs[i - 1]) return false;
  }
  return true;
}
static_assert(bounds_double());

// The first bound that is not below the wait; kWaitBoundsNs.size() for a wait above all of them.
constexpr std::size_t place_of_wait(std::int64_t ns) {
  const auto bits = static_cast<std::uint64_t>(ns) | 1;
  const auto highest = static_cast<unsigned>(std::countl_zero(bits)) ^ 63;
  return kNextBounds.below[highest] + (ns > kNextBounds.ns[highest] ? 1 : 0);
}

}  // namespace weir::engine
