#include "serve/gateway/cors.h"

#include <algorithm>

#include "wire/http1/writer.h"

namespace weir::gateway {
namespace {

constexpr std::size_t kMaxOrigin = 512;

// Which of our headers a script may see, beside those that every script may.
constexpr std::string_view kExposed =
    "Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, "
    "X-RateLimit-Reset, X-RateLimit-Shadow, X-Request-Id";

// An origin is printable ASCII without blanks, or `null`.
bool is_plain(std::string_view text) {
  return text.size() <= kMaxOrigin &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

void append_cors_headers(std::string& out, const policy::Cors& cors,
                         const http1::Headers& request) {
  if (!cors.on()) return;
  http1::append_parsed_header(out, "Vary", "Origin");  // also for who is not admitted
  const http1::Found origin = request.find("origin");
  if (!origin || origin.repeated() || !is_plain(origin.value) || !cors.admits(origin.value)) return;
  http1::append_parsed_header(out, "Access-Control-Allow-Origin", origin.value);
  // Requests that carry cookies are refused like others, and their page must read it too.
  http1::append_parsed_header(out, "Access-Control-Allow-Credentials", "true");
  http1::append_parsed_header(out, "Access-Control-Expose-Headers", kExposed);
}

}  // namespace weir::gateway
