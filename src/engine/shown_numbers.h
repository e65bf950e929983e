// What headers and bodies show of a limit: its name, and those numbers of its verdict that mean
// something.
//
// THREADS: pure functions.

#pragma once

#include <string_view>

#include "base/check.h"
#include "base/text_cursor.h"
#include "engine/engine.h"
#include "policy/words.h"

namespace weir::engine {

inline void append_name(TextCursor& out, std::string_view name) {
  WEIR_CHECK(name.size() <= policy::kMaxNameBytes, "names are bounded where a policy is read");
  out += name;
}

inline bool has_quota(const LimitDecision& one) {
  return one.known() && one.reason != Reason::kMissingKey && !one.unlimited();
}

// Whether the verdict's numbers were asked of a store and mean something.
inline bool has_numbers(const LimitDecision& one) {
  return one.asked && has_quota(one);
}

inline bool has_wait(const Verdict& verdict) {
  return verdict.outcome == Outcome::kDenied && verdict.retry_known;
}

}  // namespace weir::engine
