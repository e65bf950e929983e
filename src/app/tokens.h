// Tokens: gives a policy that reads claims of a JWT what checks it.
//
// THREADS: any; of one policy, one at a time.

#pragma once

#include "base/metrics.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::app {

// Reads the keys that `identity.jwt` names. Warns of a secret that everybody on this machine can
// read. `registry` may be null.
// ERRORS: kInvalid: what jwt::Verifier::open says of them. A file that a policy names is part of
// it: where it cannot be read, the policy is wrong.
Result<bool> attach_tokens(policy::Policy& policy, metrics::Registry* registry);

}  // namespace weir::app
