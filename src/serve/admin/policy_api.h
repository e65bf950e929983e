// The admin API: what is in force, and changes to it (docs/live.md).
//
// To look is open as /metrics is; to change wants the token, from whatever address, so that no page
// in an operator's browser can.
//
// THREADS: the handler runs on every loop at once.

#pragma once

#include <string>
#include <vector>

#include "serve/admin/control.h"
#include "serve/http/message.h"

namespace weir::admin {

struct Access {
  bool may_look = false;
  std::string token;  // the one in force; empty: nobody may change anything
};

// Answers the paths below /v1/. REQUIRES: as http::AsyncHandler; `control` outlives the answer.
void policy_api(Control& control, const Access& access, const http::Request& request,
                http::Response& response, http::Done done);

// `,"generation":2,"policy":"weir.yaml","hash":"sha256:...","loaded_at":"2024-05-01T12:00:00Z",...`
void append_status(std::string& out, const PolicyStatus& status);
// `["a","b"]`
void append_texts(std::string& out, const std::vector<std::string>& texts);

}  // namespace weir::admin
