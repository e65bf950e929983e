// ForwardedRequest: the request that a proxy asks about, as its headers describe it.
//
//   nginx           X-Original-Method, X-Original-URI, X-Original-Host or Host
//   traefik, caddy  X-Forwarded-Method, X-Forwarded-Uri, X-Forwarded-Host
//
// Everything is copied, since the answer may come after the proxy's request is gone. All other
// headers are the client's own.
//
// THREADS: one request, one thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/request_attributes.h"
#include "policy/path.h"
#include "serve/http/message.h"
#include "weir/result.h"

namespace weir::api {

// Which headers a proxy sends; kEither is told by those that are there.
enum class Proxy { kEither, kOriginal, kForwarded };

class ForwardedRequest final : public engine::RequestAttributes {
 public:
  // ERRORS: kInvalid, to be answered 400, where the proxy's headers are missing, contradict each
  // other or are wrong.
  Result<bool> read(const http::Request& request, Proxy proxy, const policy::Policy& policy,
                    Instant now);

  bool can_release() const override { return false; }  // proxies do not say when it has ended

  // policy::RequestFields
  std::optional<std::string_view> header(std::string_view name, std::size_t index) const override;
  Found cookie(std::string_view name) const override;
  Found query(std::string_view name) const override;

 private:
  Result<Proxy> family() const;
  Result<std::string_view> one_of(std::string_view original, std::string_view forwarded,
                                  Proxy proxy) const;

  std::vector<std::pair<std::string, std::string>> headers_;  // names in lower case
  std::string method_text_;
  std::string path_text_;
  std::string query_;
};

}  // namespace weir::api
