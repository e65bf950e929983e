// What lets a page of another origin read an answer that the gateway gives itself (the Fetch
// standard, "CORS protocol"). An upstream's answers carry what the upstream says.
//
// THREADS: pure function.

#pragma once

#include <string>

#include "policy/policy.h"
#include "wire/http1/headers.h"

namespace weir::gateway {

// Appends the lines for the origin that the request names, where the policy admits it.
void append_cors_headers(std::string& out, const policy::Cors& cors, const http1::Headers& request);

}  // namespace weir::gateway
