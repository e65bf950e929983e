// Change: a policy with other values than its text has, as the admin API gives them while it is in
// force. What is changed is read as the text itself would be: the same checks, the same messages.
//
// THREADS: pure functions.

#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policy/node.h"
#include "policy/policy.h"

namespace weir::policy {

// The numbers of one key of a limit: those of an entry of `overrides`, or { "tier": NAME } for
// those of a tier.
struct OverrideChange {
  std::vector<std::string> key;
  boost::json::object fields;
};

struct LimitChange {
  boost::json::object fields;  // numbers, algorithm, mode, tiers: each replaces the text's
  std::vector<OverrideChange> overrides;
};

// The key of an override as it is counted; as it is where it can be none of this limit.
std::vector<std::string> canonical_key(std::vector<std::string> key, const Limit& limit,
                                       const Identity& identity);

struct ChangedLimit {
  std::optional<Limit> limit;         // exactly when there are no mistakes
  std::vector<std::string> mistakes;  // what is wrong, what is allowed
};

// The `place`th limit of `policy` as changed. `tree`: what the policy was read from.
// Fields of a limit that name it, or say what it applies to, cannot be changed.
ChangedLimit change_limit(const Policy& policy, const Node& tree, std::size_t place,
                          const LimitChange& change);

// { "mode": "shadow" } and { "enabled": false }. What is wrong with them; empty once `policy` is
// so.
std::vector<std::string> change_policy(Policy& policy, const boost::json::object& fields);

// { "ip": "203.0.113.0/24" }: which requests are meant, as a `match` says it. Nothing after adding
// to `mistakes`.
std::optional<Match> read_meant(const Policy& policy, const boost::json::object& fields,
                                std::vector<std::string>& mistakes);

}  // namespace weir::policy
