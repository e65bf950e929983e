// What the demo service answers to one request.
//
// THREADS: any; no state.

#pragma once

#include "serve/http/message.h"

namespace weir::demo {

void answer(const http::Request& request, http::Response& response);

}  // namespace weir::demo
