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

// Which of the answers to one request is named. REQUIRES: at least one answer.
inline std::size_t named_of(std::span<const store::Answer> answers) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    if (engine::is_named_over(answers[i].verdict, answers[best].verdict)) best = i;
  }
  return best;
}

// The verdict that is named among the answers to one request; admitted, with the longest delay of
// them all. REQUIRES: at least one answer.
inline Verdict combined(std::span<const store::Answer> answers, bool admitted) {
  Duration delay{0};
  for (const store::Answer& answer : answers) delay = std::max(delay, answer.verdict.delay);
  Verdict verdict = answers[named_of(answers)].verdict;
  verdict.delay = admitted ? delay : Duration(0);
  return verdict;
}

// How many tokens one call could take from all of them: the one that a verdict names has the least
// share left, and another may have fewer. REQUIRES: at least one answer.
inline std::uint64_t least_left(std::span<const store::Answer> answers) {
  std::uint64_t least = answers[0].verdict.remaining;
  for (const store::Answer& answer : answers) least = std::min(least, answer.verdict.remaining);
  return least;
}

}  // namespace weir::library
