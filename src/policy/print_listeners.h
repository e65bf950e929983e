// PrintListeners: the sections gateway, api, resp, grpc and admin of a policy that is printed.
//
// THREADS: pure function.

#pragma once

#include <string>

#include "policy/policy.h"
#include "policy/print.h"

namespace weir::policy {

// Those that the policy has.
std::string print_listeners(const Policy& policy, PrintOptions options);

}  // namespace weir::policy
