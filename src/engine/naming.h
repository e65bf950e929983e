// Which of several verdicts a decision names: denied, the one that will never admit, else the one
// with the longest wait; admitted, the one with the smallest share left. Exact; ties by order.
//
// THREADS: pure functions.

#pragma once

#include "base/wide.h"
#include "weir/decision.h"

namespace weir::engine {

// Whether `a` leaves less of its quota than `b`: a.remaining / a.quota < b.remaining / b.quota, a
// quota of 0 being empty.
inline bool has_smaller_share(const Verdict& a, const Verdict& b) {
  if (a.quota == 0) return b.quota != 0 && b.remaining != 0;
  if (b.quota == 0) return false;
  return Wide{a.remaining} * b.quota < Wide{b.remaining} * a.quota;
}

// Whether `a` refuses for longer than `b`. REQUIRES: both refuse.
inline bool refuses_longer(const Verdict& a, const Verdict& b) {
  const bool never = a.outcome == Outcome::kNever;
  if (never != (b.outcome == Outcome::kNever)) return never;
  return !never && a.retry_after > b.retry_after;
}

// Whether `a` is named rather than `b`, which stands before it.
inline bool is_named_over(const Verdict& a, const Verdict& b) {
  if (a.allowed() != b.allowed()) return !a.allowed();
  return a.allowed() ? has_smaller_share(a, b) : refuses_longer(a, b);
}

}  // namespace weir::engine
