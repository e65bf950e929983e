// Matcher: one `match`, `except` or `exempt` entry, ready to compare.
//
// All named attributes must hold; a missing one never does. A path with an encoded slash has two
// readings, and which server will read it how is not known: a limit applies when either reading
// matches, an exception only when both do, so that no spelling leads out of a limit.
//
// THREADS: immutable; any.

#pragma once

#include <vector>

#include "engine/request_view.h"
#include "policy/policy.h"

namespace weir::engine {

enum class Readings {
  kAny,  // limits
  kAll,  // exceptions and exemptions
};

// `prepared`: by policy::prepare (path.h).
bool holds(const policy::Condition& prepared, RequestView& request, Readings readings);

class Matcher {
 public:
  Matcher() = default;  // matches every request
  Matcher(const policy::Match& match, const policy::Paths& paths);

  bool matches(RequestView& request, Readings readings) const;

  // Whether all holds but what a message alone can tell.
  bool matches_connection(RequestView& handshake) const;

  // Whether it names `message`: then it is for WebSocket messages, and for nothing else.
  bool names_message() const;

  const std::vector<policy::Condition>& conditions() const { return conditions_; }

 private:
  std::vector<policy::Condition> conditions_;
};

// The first of `entries`, each with a Matcher `match`, that the request takes; null where none is.
template <typename Entry>
const Entry* first_match(const std::vector<Entry>& entries, RequestView& request) {
  for (const Entry& entry : entries) {
    if (entry.match.matches(request, Readings::kAny)) return &entry;
  }
  return nullptr;
}

}  // namespace weir::engine
