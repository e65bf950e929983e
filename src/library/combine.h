// The one verdict that several make together, as the contract names it: refused, what can never be
// before any wait, else the longest wait; admitted, the least share left. Ties by order.
//
// THREADS: plain functions.

#pragma once

#include <cstddef>
#include <span>

#include "base/wide.h"
#include "weir/decision.h"

namespace weir::library {

// Whether `mine` is named rather than `other`, which comes before it. `admitted`: by all.
inline bool named_before(const Verdict& mine, const Verdict& other, bool admitted) {
  if (admitted) {
    return wide_product(mine.remaining, other.quota) < wide_product(other.remaining, mine.quota);
  }
  const auto rank = [](const Verdict& v) {
    return v.outcome == Outcome::kNever ? 2 : v.outcome == Outcome::kDenied ? 1 : 0;
  };
  if (rank(mine) != rank(other)) return rank(mine) > rank(other);
  return rank(mine) == 1 && mine.retry_after > other.retry_after;
}

// The index of the verdict that is named. REQUIRES: size > 0; `verdict_of(i)` gives a Verdict.
template <typename VerdictOf>
std::size_t named(std::size_t size, bool admitted, const VerdictOf& verdict_of) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (named_before(verdict_of(i), verdict_of(best), admitted)) best = i;
  }
  return best;
}

}  // namespace weir::library
