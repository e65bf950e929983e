// The body of a refusal, as `response.body` has it (docs/http.md): JSON of our own, a problem of
// RFC 9457, or a file of the operator's.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"

namespace weir::engine {

// Appends the body and returns its content type, which is static text. REQUIRES: !decision.allowed.
std::string_view append_refusal_body(const Decision& decision, std::string& out);

}  // namespace weir::engine
