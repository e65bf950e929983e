// The check API (docs/api.md): checks, one limit by its name, forward-auth.
//
// THREADS: the handler runs on every loop at once.

#pragma once

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/engine.h"
#include "serve/http/message.h"

namespace weir::api {

struct Services {
  engine::Engine& engine;
  engine::Adhoc& adhoc;
  const Clock& clock;
  metrics::Registry& registry;
};

// `json` answers POST /json, Envoy's protocol as JSON; may be empty.
// REQUIRES: all services outlive the handler, and the engine has a policy.
http::AsyncHandler make_handler(Services services, http::AsyncHandler json = nullptr);

}  // namespace weir::api
