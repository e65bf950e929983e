// Override keys: a value of an override's key, as requests of that client are counted.
//
// THREADS: pure functions.

#pragma once

#include <string>

#include "policy/policy.h"
#include "weir/result.h"

namespace weir::policy {

// An address, or a block that is one key, becomes its canonical text under the identity's prefix,
// as keys are made of requests; other values stay what they are. ERRORS: kInvalid for what can be
// no value of the part.
Result<std::string> override_value(const KeyPart& part, const std::string& text,
                                   const Identity& identity);

}  // namespace weir::policy
