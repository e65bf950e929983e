// Environment: ${NAME} and ${NAME:-default} in the scalars of a policy.
//
// The default is used when the variable is unset or empty. Expanded once: what a variable or a
// default holds is taken as it is. `$${` stands for a plain `${`; any other $ is just a $.
//
// THREADS: pure functions, but for process_environment (no setenv beside it).

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "policy/scalar.h"

namespace weir::policy {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

std::optional<std::string> process_environment(const std::string& name);

// Whether there is anything to expand.
bool has_variables(std::string_view text);

// ERRORS: a variable that is unset and has no default, or a ${ that is not one of the two forms.
Parsed<std::string> expand(std::string_view text, const Environment& environment);

}  // namespace weir::policy
