#include "engine/matcher.h"

#include <algorithm>

#include "policy/path.h"

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;

bool path_holds(const policy::Pattern& pattern, RequestView& request, Readings readings) {
  const auto path = request.path();
  if (!path) return false;
  const bool kept = pattern.matches(*path);
  const auto& decoded = request.path_with_slashes();
  if (!decoded || kept == (readings == Readings::kAny)) return kept;
  return pattern.matches(*decoded);
}

bool method_holds(const policy::Pattern& pattern, const RequestView& request) {
  const auto method = request.method();
  if (!method) return false;
  return pattern.matches(*method) || (*method == "HEAD" && pattern.matches("GET"));
}

}  // namespace

bool holds(const policy::Condition& prepared, RequestView& request, Readings readings) {
  switch (prepared.attribute.kind) {
    case Kind::kIp:
      return request.ip() && prepared.pattern.matches_ip(*request.ip());
    case Kind::kPath:
      return path_holds(prepared.pattern, request, readings);
    case Kind::kMethod:
      return method_holds(prepared.pattern, request);
    default:
      break;
  }
  const auto value = request.find(prepared.attribute);
  return value && prepared.pattern.matches(*value);
}

Matcher::Matcher(const policy::Match& match, const policy::Paths& paths) {
  for (const policy::Condition& written : match.conditions) {
    conditions_.push_back(policy::prepare(written, paths));
  }
}

bool Matcher::matches(RequestView& request, Readings readings) const {
  return std::all_of(
      conditions_.begin(), conditions_.end(),
      [&](const policy::Condition& condition) { return holds(condition, request, readings); });
}

bool Matcher::matches_connection(RequestView& handshake) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const policy::Condition& condition) {
                       return condition.attribute.kind == Kind::kMessage ||
                              condition.attribute.kind == Kind::kMessagePointer ||
                              holds(condition, handshake, Readings::kAny);
                     });
}

bool Matcher::names_message() const {
  return std::any_of(conditions_.begin(), conditions_.end(), [](const auto& condition) {
    return condition.attribute.kind == Kind::kMessage;
  });
}

}  // namespace weir::engine
