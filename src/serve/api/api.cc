#include "serve/api/api.h"

#include "engine/answer.h"
#include "serve/http/problem.h"

namespace weir::api {
namespace {

metrics::Counter requests(metrics::Registry& registry, const char* outcome) {
  return registry.counter("weir_requests_total", "Requests by what became of them.",
                          {{"listener", "api"}, {"outcome", outcome}});
}

}  // namespace

Api::Api(engine::Engine& engine, engine::Adhoc& adhoc, const Clock& clock,
         metrics::Registry& registry)
    : engine_(engine),
      adhoc_(adhoc),
      clock_(clock),
      allowed_(requests(registry, "allowed")),
      denied_(requests(registry, "denied")),
      error_(requests(registry, "error")),
      timer_(registry, "api", clock) {}

void Api::refuse(http::Response& response, int status, std::string_view detail,
                 std::string_view field, const http::Done& done) const {
  error_.add();
  http::set_problem(response, status, detail, field);
  done();
}

void Api::refuse(http::Response& response, const Error& error, const http::Done& done) const {
  refuse(response, error.code == ErrorCode::kNotFound ? 404 : 400, error.message, {}, done);
}

void Api::answer(const engine::Decision& decision, http::Response& response) const {
  static thread_local engine::AnswerHeaders headers;
  count(decision.allowed);
  response.status = decision.allowed ? 200 : engine::refusal_status(decision);
  response.content_type = "application/json";
  headers.fill(decision);
  headers.append_to(response.headers);
  engine::append_check_json(decision, "", response.body);
  response.body += '\n';
}

}  // namespace weir::api
