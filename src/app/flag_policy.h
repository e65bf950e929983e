// The policy of a `weir serve` without a file: --upstream, --limit and --listen.

#pragma once

#include <optional>

#include "app/command_line.h"
#include "policy/policy.h"

namespace weir::app {

// Nothing once the mistakes are printed to standard error.
std::optional<policy::Policy> policy_from_flags(const ServeOptions& options);

}  // namespace weir::app
