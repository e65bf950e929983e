// The admin API: what is in force, and changes to it (docs/live.md).
//
// To look is open as /metrics is; to change wants the token, from whatever address, so that no page
// in an operator's browser can.
//
// THREADS: the handler runs on every loop at once.

#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "serve/admin/control.h"
#include "serve/admin/events.h"
#include "serve/http/message.h"

namespace weir::admin {

struct Access {
  bool may_look = false;
  std::string token;  // the one in force; empty: nobody may change anything
};

// What the API works on. All outlive the answer.
struct ApiServices {
  Control& control;
  engine::Engine& engine;
  const Clock& clock;
  const Events& events;
};

// Answers the paths below /v1/. REQUIRES: as http::AsyncHandler.
void policy_api(const ApiServices& services, const Access& access, const http::Request& request,
                http::Response& response, http::Done done);

// `,"generation":2,"policy":"weir.yaml","hash":"sha256:...","loaded_at":"2024-05-01T12:00:00Z",...`
void append_status(std::string& out, const PolicyStatus& status);
// "2024-05-01T12:00:00Z"
std::string utc(std::int64_t unix_ns);
// `["a","b"]`
void append_texts(std::string& out, const std::vector<std::string>& texts);

}  // namespace weir::admin
