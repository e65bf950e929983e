// Error answers: application/problem+json (RFC 9457).

#pragma once

#include <string_view>

#include "serve/http/message.h"

namespace weir::http {

// Fills an error answer. `detail` says what is wrong and what is allowed; `field`, when given,
// which part of the request it is about.
void set_problem(Response& response, int status, std::string_view detail,
                 std::string_view field = {});

}  // namespace weir::http
