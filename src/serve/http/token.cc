#include "serve/http/token.h"

#include <openssl/crypto.h>

#include "base/letters.h"
#include "base/trim.h"
#include "serve/http/problem.h"

namespace weir::http {

bool shows_token(const Request& request, std::string_view token) {
  const http1::Found found = request.headers.find("authorization");
  return found.count == 1 && is_bearer_token(found.value, token);
}

bool is_bearer_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return false;
  if (!equals_ignore_case(authorization.substr(0, kScheme.size()), kScheme)) return false;
  const std::string_view shown = trim(authorization.substr(kScheme.size()));
  // The length may leak; the bytes may not.
  return shown.size() == token.size() &&
         CRYPTO_memcmp(shown.data(), token.data(), token.size()) == 0;
}

void refuse_without_token(Response& response) {
  set_problem(response, 401, "show the token: Authorization: Bearer TOKEN");
  response.add_header("WWW-Authenticate", "Bearer");
}

}  // namespace weir::http
