#include "serve/admin/handler.h"

#include "base/json.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::admin {
namespace {

void answer_metrics(const Sources& sources, http::Response& response) {
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = sources.registry->to_text();
}

void answer_readiness(const Sources& sources, http::Response& response) {
  const Readiness readiness = sources.readiness();
  response.status = readiness.ready ? 200 : 503;
  response.content_type = "application/json";
  std::string& body = response.body;
  body = readiness.ready ? "{\"ready\":true" : "{\"ready\":false";
  body += ",\"generation\":" + std::to_string(readiness.generation) + ",\"policy\":";
  append_json_string(body, readiness.policy);
  body += ",\"reasons\":[";
  for (std::size_t i = 0; i < readiness.reasons.size(); ++i) {
    if (i > 0) body += ',';
    append_json_string(body, readiness.reasons[i]);
  }
  body += "]}\n";
}

bool may_look(const Sources& sources, const http::Request& request) {
  if (request.peer.is_loopback()) return true;
  const std::string token = sources.token();
  return !token.empty() && http::shows_token(request, token);
}

void handle(const Sources& sources, const http::Request& request, http::Response& response) {
  const bool known =
      request.path == "/metrics" || request.path == "/healthz" || request.path == "/readyz";
  if (!known) {
    return http::set_problem(response, 404, "there are /metrics, /healthz and /readyz");
  }
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
  answer_metrics(sources, response);
}

}  // namespace

http::Handler make_handler(Sources sources) {
  return [sources = std::move(sources)](const http::Request& request, http::Response& response) {
    handle(sources, request, response);
  };
}

}  // namespace weir::admin
