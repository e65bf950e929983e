// Overlay: what has been changed of a policy while it is in force, apart from its text. It is
// applied again after every reload; what fits the text no more is set aside and told.
//
// An entry is named by what it changes:
//   ["policy"]                        mode, enabled
//   ["limit", "login"]                numbers and mode of a limit
//   ["override", "login", "user-42"]  numbers of one key of it: a value for each part of the key
//   ["ban", "{\"ip\":\"203.0.113.7\"}"]   requests that are refused
//
// THREADS: plain values and pure functions.

#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/node.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::app::overlay {

using Name = std::vector<std::string>;

struct Entry {
  boost::json::object set;               // what it changes
  std::string who;                       // who made it
  std::int64_t at_ns = 0;                // and when, Unix time
  std::optional<std::int64_t> until_ns;  // until when it holds

  bool holds(std::int64_t now_ns) const { return !until_ns || *until_ns > now_ns; }
  friend bool operator==(const Entry&, const Entry&) = default;
};

using Entries = std::map<Name, Entry>;

// How many entries there may be.
inline constexpr std::size_t kMax = 10'000;

struct Applied {
  policy::Policy policy;
  std::vector<std::string> set_aside;  // entries that do not fit, and why
  std::size_t in_force = 0;
};

// `tree`: what `base` was read from.
Applied apply(const policy::Policy& base, const policy::Node& tree, const Entries& entries,
              std::int64_t now_ns);

// Under what name a change is kept. A key of an override has many spellings (2001:db8::1, and what
// else is in its block): it is named as it is counted, or as an entry has it already.
Name target(const policy::Policy& base, const Entries& entries, const Name& name);

// What is wrong with one entry; empty where it fits. ERRORS: kNotFound: there is no such limit.
Result<std::vector<std::string>> check(const policy::Policy& base, const policy::Node& tree,
                                       const Entries& others, const Name& name, const Entry& entry);

// As texts, for where they are kept: one name, one entry.
std::string to_text(const Name& name);
std::string to_text(const Entry& entry);
std::optional<Name> name_of(std::string_view text);
std::optional<Entry> entry_of(std::string_view text);

// For the log and for whoever asks what state the program is in: unless keys are told in full
// there, without an override's key and without what a ban's match names.
std::string told(const Name& name, policy::KeyForm keys);
std::string told(const Name& name, const Entry& entry, policy::KeyForm keys);

}  // namespace weir::app::overlay
