#include "serve/api/handler.h"

#include <memory>

#include "engine/compiled_policy.h"
#include "serve/api/api.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::api {
namespace {

constexpr std::string_view kVersion = "/v1/";
constexpr std::string_view kLimits = "/v1/limits/";

// Whether the request is refused before it is looked at.
bool lacks_token(const policy::Policy& policy, const http::Request& request,
                 http::Response& response) {
  const bool guarded = policy.api && !policy.api->token.empty();
  if (!guarded || http::shows_token(request, policy.api->token)) return false;
  http::refuse_without_token(response);
  return true;
}

void check_method(const Api& api, const policy::Policy& policy, const http::Request& request,
                  http::Response& response, http::Done done) {
  if (request.method == "POST") return check(api, policy, request, response, std::move(done));
  response.add_header("Allow", "POST");
  api.refuse(response, 405, "only POST is answered here", {}, done);
}

void route(const Api& api, const http::AsyncHandler& other, const http::Request& request,
           http::Response& response, http::Done done) {
  const policy::Policy& policy = api.engine().glance().policy();
  // Proxies authenticate by their address (identity.trusted_proxies), not by the token.
  if (request.path == "/v1/forward-auth") {
    return forward_auth(api, request, response, std::move(done));
  }
  if (lacks_token(policy, request, response)) return done();
  if (request.path == "/v1/check") {
    return check_method(api, policy, request, response, std::move(done));
  }
  if (request.path.starts_with(kLimits)) {
    return limit_by_name(api, request.path.substr(kLimits.size()), request, response,
                         std::move(done));
  }
  if (request.path.starts_with(kVersion) && is_id_verb(request.path.substr(kVersion.size()))) {
    return by_id(api, request.path.substr(kVersion.size()), request, response, std::move(done));
  }
  if (request.path == "/json" && other) return other(request, response, std::move(done));
  api.refuse(response, 404,
             "there are /v1/check, /v1/settle, /v1/refund, /v1/release, /v1/renew, "
             "/v1/limits/NAME/take, refund and keys, /v1/forward-auth and /json",
             {}, done);
}

}  // namespace

http::AsyncHandler make_handler(Services services, http::AsyncHandler json) {
  // WHY shared: a std::function is copied, and answers point into the one Api.
  const auto api = std::make_shared<const Api>(services.engine, services.adhoc, services.clock,
                                               services.registry);
  return [api, json = std::move(json)](const http::Request& request, http::Response& response,
                                       http::Done done) {
    route(*api, json, request, response, std::move(done));
  };
}

}  // namespace weir::api
