// The check API's JSON about one decision (docs/http.md). Seconds are exact, to the nanosecond.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"

namespace weir::engine {

// Appends the object. `id` names the decision for settle, refund and release.
// REQUIRES: `id` needs no escapes.
void append_check_json(const Decision& decision, std::string_view id, std::string& out);

// Appends seconds exactly: "9.4", "0", "0.000000001". REQUIRES: not negative.
void append_exact_seconds(std::string& out, Duration duration);

}  // namespace weir::engine
