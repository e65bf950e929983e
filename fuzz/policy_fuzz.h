// Policies from any bytes: nothing may crash; every mistake has a place in the text; what was taken
// and is printed reads back as the same policy.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "policy/load.h"
#include "policy/print.h"

namespace weir::fuzz {

inline policy::LoadOptions without_environment() {
  policy::LoadOptions options;
  options.environment = [](const std::string&) -> std::optional<std::string> { return {}; };
  return options;
}

inline void try_policy(std::string text, policy::Format format) {
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n') + 2);
  const policy::LoadOptions options = without_environment();
  const policy::Loaded loaded = policy::load_text("p", std::move(text), format, options);
  WEIR_CHECK(loaded.policy.has_value() == loaded.mistakes.empty(), "a policy, or why not");
  for (const policy::Diagnostic& mistake : loaded.mistakes) {
    WEIR_CHECK(mistake.at.line <= lines, "a mistake stands in the text");
    WEIR_CHECK(!mistake.to_string().empty(), "a mistake can be printed");
  }
  if (!loaded.policy) return;
  const policy::PrintOptions with_secrets{.show_secrets = true};
  const std::string once = policy::print_yaml(*loaded.policy, with_secrets);
  const policy::Loaded again = policy::load_text("p", once, policy::Format::kYaml, options);
  WEIR_CHECK(again.policy.has_value(), "what is printed is right");
  WEIR_CHECK(policy::print_yaml(*again.policy, with_secrets) == once, "and the same");
}

}  // namespace weir::fuzz
