// Bearer tokens, compared in constant time.
//
// THREADS: pure functions.

#pragma once

#include <string_view>

#include "serve/http/message.h"

namespace weir::http {

// Whether the request shows "Authorization: Bearer TOKEN". A repeated field shows nothing.
bool shows_token(const Request& request, std::string_view token);

// Whether `authorization`, the value of such a field, is "Bearer TOKEN".
bool is_bearer_token(std::string_view authorization, std::string_view token);

// Fills a 401 that says what is wanted.
void refuse_without_token(Response& response);

}  // namespace weir::http
