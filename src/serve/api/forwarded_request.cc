#include "serve/api/forwarded_request.h"

#include "base/letters.h"
#include "wire/http1/cookies.h"
#include "wire/http1/query.h"

namespace weir::api {
namespace {

Error bad(std::string message) {
  return {ErrorCode::kInvalid, std::move(message)};
}

}  // namespace

// The value of the header that the proxy uses. Two that differ are two stories about one request:
// one of them may be the client's.
Result<std::string_view> ForwardedRequest::one_of(std::string_view original,
                                                  std::string_view forwarded, Proxy proxy) const {
  if (header(original, 1) || header(forwarded, 1)) {
    return bad("a header that describes the request stands twice");
  }
  const auto a = header(original, 0);
  const auto b = header(forwarded, 0);
  if (proxy == Proxy::kOriginal) return a.value_or("");
  if (proxy == Proxy::kForwarded) return b.value_or("");
  if (a && b && *a != *b) {
    return bad(std::string(original) + " and " + std::string(forwarded) +
               " differ: let the proxy clear one, or ask with ?proxy=nginx, traefik or caddy");
  }
  return a ? *a : b.value_or("");
}

// The family that is present, where the caller did not name one. Half of one beside the other is
// two stories as well.
Result<Proxy> ForwardedRequest::family() const {
  const auto stands = [this](std::string_view name) { return header(name, 0).has_value(); };
  const int original = stands("x-original-method") + stands("x-original-uri");
  const int forwarded = stands("x-forwarded-method") + stands("x-forwarded-uri");
  if (original == 0) return Proxy::kForwarded;
  if (forwarded == 0) return Proxy::kOriginal;
  if (original == 2 && forwarded == 2) return Proxy::kEither;
  return bad(
      "X-Original-* and X-Forwarded-* are mixed: let the proxy clear one, or ask with "
      "?proxy=nginx, traefik or caddy");
}

Result<bool> ForwardedRequest::read(const http::Request& request, Proxy proxy,
                                    const policy::Policy& policy, Instant now) {
  for (const http1::Header field : request.headers) {
    headers_.emplace_back(lowered(field.name), field.value);
  }
  if (proxy == Proxy::kEither) {
    const auto present = family();
    if (!present) return present.error();
    proxy = *present;
  }
  const auto method = one_of("x-original-method", "x-forwarded-method", proxy);
  if (!method) return method.error();
  const auto uri = one_of("x-original-uri", "x-forwarded-uri", proxy);
  if (!uri) return uri.error();
  if (method->empty() || uri->empty()) {
    return bad(
        "the proxy must send X-Original-Method and X-Original-URI, or X-Forwarded-Method "
        "and X-Forwarded-Uri");
  }
  method_text_ = *method;
  method_ = method_text_;
  const auto target = policy::split_target(*uri);
  if (!target) return target.error();
  policy::PathBuffer buffer;
  const auto path = policy::normalise_path(target->path, policy.paths, buffer);
  if (!path) return path.error();
  path_text_ = path->match;
  path_ = path_text_;
  query_ = target->query.value_or("");
  auto named = one_of("x-original-host", "x-forwarded-host", proxy);
  if (!named) return named.error();
  const std::string_view host = named->empty() ? header("host", 0).value_or("") : *named;
  auto normal = policy::normalise_host(host);
  if (!normal) return normal.error();
  host_ = *std::move(normal);
  const auto client = policy::identify(policy.identity, request.peer, *this, now);
  if (!client) return client.error();
  client_ = *client;
  return true;
}

std::optional<std::string_view> ForwardedRequest::header(std::string_view name,
                                                         std::size_t index) const {
  for (const auto& [known, value] : headers_) {
    if (known == name && index-- == 0) return value;
  }
  return std::nullopt;
}

ForwardedRequest::Found ForwardedRequest::cookie(std::string_view name) const {
  Found found;
  for (const auto& [known, value] : headers_) {
    if (known != "cookie") continue;
    std::string_view field = value;
    while (const auto pair = http1::next_cookie(field)) {
      if (pair->name == name && found.count++ == 0) found.value = pair->value;
    }
  }
  return found;
}

ForwardedRequest::Found ForwardedRequest::query(std::string_view name) const {
  const http1::Found found = http1::find_query(query_, name, made_.emplace_front());
  return {found.value, found.count};
}

}  // namespace weir::api
