// The check API: POST /v1/check.
//
// THREADS: the handler runs on every loop at once.

#pragma once

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "serve/http/message.h"

namespace weir::api {

// REQUIRES: all arguments outlive the handler, and the engine has a policy.
http::AsyncHandler make_handler(engine::Engine& engine, const Clock& clock,
                                metrics::Registry& registry);

}  // namespace weir::api
