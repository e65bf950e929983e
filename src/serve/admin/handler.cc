#include "serve/admin/handler.h"

#include <utility>

#include "base/json.h"
#include "serve/admin/policy_api.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::admin {
namespace {

void answer_metrics(const Sources& sources, const http::Request& request,
                    http::Response& response) {
  const metrics::Format format = metrics::format_for(request.headers.find("accept").value);
  response.content_type = metrics::content_type(format);
  response.body = sources.registry->to_text(format);
}

void answer_readiness(const Sources& sources, http::Response& response) {
  const Readiness readiness = sources.readiness();
  response.status = readiness.ready ? 200 : 503;
  response.content_type = "application/json";
  std::string& body = response.body;
  body = readiness.ready ? "{\"ready\":true" : "{\"ready\":false";
  append_status(body, readiness.policy);
  body += ",\"reasons\":";
  append_texts(body, readiness.reasons);
  body += "}\n";
}

bool may_look(const Sources& sources, const http::Request& request) {
  if (request.peer.is_loopback()) return true;
  const std::string token = sources.token();
  return !token.empty() && http::shows_token(request, token);
}

void look(const Sources& sources, const http::Request& request, http::Response& response) {
  if (request.method != "GET" && request.method != "HEAD") {
    http::set_problem(response, 405, "only GET and HEAD are answered here");
    return response.add_header("Allow", "GET, HEAD");
  }
  if (request.path == "/healthz") {
    response.body = "ok\n";
    return;
  }
  if (request.path == "/readyz") return answer_readiness(sources, response);
  if (!may_look(sources, request)) return http::refuse_without_token(response);
  answer_metrics(sources, request, response);
}

void handle(const Sources& sources, const http::Request& request, http::Response& response,
            http::Done done) {
  if (request.path.starts_with("/v1/")) {
    const Access access{may_look(sources, request), sources.token()};
    return policy_api(*sources.control, access, request, response, std::move(done));
  }
  const bool known =
      request.path == "/metrics" || request.path == "/healthz" || request.path == "/readyz";
  if (known) {
    look(sources, request, response);
  } else {
    http::set_problem(response, 404, "there are /metrics, /healthz, /readyz and /v1/policy");
  }
  done();
}

}  // namespace

http::AsyncHandler make_handler(Sources sources) {
  return [sources = std::move(sources)](const http::Request& request, http::Response& response,
                                        http::Done done) {
    handle(sources, request, response, std::move(done));
  };
}

}  // namespace weir::admin
