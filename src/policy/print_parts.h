// PrintParts: what print.cc and print_listeners.cc are made of that is more than one section's:
// texts, lists, matches; how limits' numbers stand; and where requests go.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"

namespace weir::policy {

// A text in double quotes that reads back as itself.
std::string text(std::string_view value);
// The same for keys, where ${ means nothing.
std::string key_text(std::string_view value);

inline std::string_view print_bool(bool value) {
  return value ? "true" : "false";
}

template <typename Items, typename Print>
std::string list(const Items& items, Print print) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + print(item);
  return out + "]";
}

// A set of numbers, as the inside of a flow mapping: one pair, or its list.
std::string print_numbers(const NumberSet& set);
bool is_unlimited(const NumberSet& set);

// Flow mappings.
std::string print_match(const Match& value);
std::string print_upstream(const UpstreamGroup& value);
std::string print_route(const Route& value);

}  // namespace weir::policy
