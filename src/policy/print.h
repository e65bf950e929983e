// Print: a policy in force, as the file that would give it: every value written out, defaults
// included, secrets as "***". For people who ask what holds, and for tests: two policies are the
// same exactly when they print the same.
//
// THREADS: pure functions.

#pragma once

#include <string>

#include "policy/policy.h"

namespace weir::policy {

struct PrintOptions {
  bool show_secrets = false;  // for a text that shall be read back
};

std::string print_yaml(const Policy& policy, PrintOptions options = {});

}  // namespace weir::policy
