#include "policy/coverage.h"

#include <algorithm>

namespace weir::policy {
namespace {

// The text of `narrow` is matched as if it were a value, its stars letters of it. What `wide` says
// between its own stars holds no star, so that a star of `narrow` falls to one of these, and with
// it whatever stands in its place.
bool segment_covers(std::string_view wide, std::string_view narrow) {
  return wide == "*" ? !narrow.empty() : matches_wildcard(wide, narrow);
}

bool path_covers(std::string_view wide, std::string_view narrow) {
  while (!wide.empty()) {
    const std::string_view wanted = take_segment(wide);
    if (wanted == "**") return true;
    if (narrow.empty()) return false;
    const std::string_view given = take_segment(narrow);
    if (given == "**" || !segment_covers(wanted, given)) return false;
  }
  return narrow.empty();
}

// REQUIRES: `narrow` is no exact text.
bool covers(const Pattern::Alternative& wide, const Pattern::Alternative& narrow) {
  if (wide.kind == Pattern::Kind::kWildcard && wide.form == "*") return true;
  if (wide.kind != narrow.kind) return false;
  if (wide.kind == Pattern::Kind::kPath) return path_covers(wide.form, narrow.form);
  if (wide.kind == Pattern::Kind::kWildcard) return matches_wildcard(wide.form, narrow.form);
  return wide.text == narrow.text;
}

bool covers(const Pattern& wide, const Pattern& narrow) {
  if (narrow.list() != nullptr || narrow.alternatives().empty()) return false;
  return std::all_of(narrow.alternatives().begin(), narrow.alternatives().end(),
                     [&](const Pattern::Alternative& one) {
                       if (one.kind == Pattern::Kind::kExact) return wide.matches(one.form);
                       return std::any_of(
                           wide.alternatives().begin(), wide.alternatives().end(),
                           [&](const Pattern::Alternative& other) { return covers(other, one); });
                     });
}

}  // namespace

bool covers(const Match& wide, const Match& narrow) {
  if (wide.conditions.empty()) return false;  // its mistakes have been told
  return std::all_of(wide.conditions.begin(), wide.conditions.end(), [&](const Condition& w) {
    return std::any_of(narrow.conditions.begin(), narrow.conditions.end(), [&](const Condition& n) {
      return n.attribute == w.attribute && covers(w.pattern, n.pattern);
    });
  });
}

}  // namespace weir::policy
