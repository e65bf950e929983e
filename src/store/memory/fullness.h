// Fullness: what forgetting a counter forgets; the fuller it is, the less.
//
// THREADS: plain values.

#pragma once

#include <cstdint>

#include "base/wide.h"
#include "weir/decision.h"

namespace weir::store {

struct Fullness {
  std::uint64_t remaining = 0;
  std::uint64_t quota = 0;
  Duration reset_after{0};

  // The larger share of its quota left, then the soonest fresh.
  bool fuller_than(const Fullness& other) const {
    const Wide mine = wide_product(remaining, other.quota);
    const Wide theirs = wide_product(other.remaining, quota);
    return mine != theirs ? mine > theirs : reset_after < other.reset_after;
  }
};

}  // namespace weir::store
