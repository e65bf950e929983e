// What the tests of this layer share.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/load.h"

namespace weir::policy {

inline std::string all(const std::vector<Diagnostic>& found) {
  std::string out;
  for (const Diagnostic& one : found) out += one.to_line() + "\n";
  return out;
}

inline LoadOptions with(std::map<std::string, std::string> variables) {
  LoadOptions options;
  options.environment = [variables](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
  return options;
}

}  // namespace weir::policy
