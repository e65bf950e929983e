// The one verdict that several make together.
//
// THREADS: plain functions.

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/naming.h"
#include "store/store.h"
#include "weir/decision.h"

namespace weir::library {

// The verdict that is named among the answers to one request; admitted, with the longest delay of
// them all. REQUIRES: at least one answer.
inline Verdict combined(std::span<const store::Answer> answers, bool admitted) {
  const Verdict* best = &answers[0].verdict;
  Duration delay{0};
  for (const store::Answer& answer : answers) {
    if (engine::is_named_over(answer.verdict, *best)) best = &answer.verdict;
    delay = std::max(delay, answer.verdict.delay);
  }
  Verdict verdict = *best;
  verdict.delay = admitted ? delay : Duration(0);
  return verdict;
}

}  // namespace weir::library
