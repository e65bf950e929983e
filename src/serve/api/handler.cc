#include "serve/api/handler.h"

#include <memory>

#include "engine/answer.h"
#include "engine/compiled_policy.h"
#include "serve/api/check_request.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::api {
namespace {

// What the handler and its answers share, one for the listener.
class Api {
 public:
  Api(engine::Engine& engine, const Clock& clock, metrics::Registry& registry)
      : engine_(engine),
        clock_(clock),
        allowed_(requests(registry, "allowed")),
        denied_(requests(registry, "denied")),
        error_(requests(registry, "error")) {}

  void handle(const http::Request& request, http::Response& response, http::Done done) const {
    const auto policy = engine_.current();
    if (!refuse(policy->policy(), request, response)) {
      check(policy->policy(), request, response, std::move(done));
      return;
    }
    error_.add();
    done();
  }

 private:
  static metrics::Counter requests(metrics::Registry& registry, const char* outcome) {
    return registry.counter("weir_requests_total", "Requests by what became of them.",
                            {{"listener", "api"}, {"outcome", outcome}});
  }

  // Whether the request is refused before its body is looked at.
  static bool refuse(const policy::Policy& policy, const http::Request& request,
                     http::Response& response) {
    if (request.path != "/v1/check") {
      http::set_problem(response, 404, "there is POST /v1/check");
      return true;
    }
    const bool guarded = policy.api && !policy.api->token.empty();
    if (guarded && !http::shows_token(request, policy.api->token)) {
      http::refuse_without_token(response);
      return true;
    }
    if (request.method == "POST") return false;
    http::set_problem(response, 405, "only POST is answered here");
    response.add_header("Allow", "POST");
    return true;
  }

  void check(const policy::Policy& policy, const http::Request& request, http::Response& response,
             http::Done done) const {
    auto asked = std::make_unique<CheckRequest>();
    if (const auto bad = read_check(request.body, policy, *asked)) {
      http::set_problem(response, 400, bad->message, bad->field);
      error_.add();
      return done();
    }
    // The attributes live until the decision: the closure below owns them.
    CheckRequest* const raw = asked.release();
    engine_.decide(raw->attributes, clock_.now(), raw->cost,
                   [this, raw, &response, done = std::move(done)](engine::Decision decision) {
                     const std::unique_ptr<CheckRequest> owned(raw);
                     answer(decision, response);
                     done();
                   });
  }

  void answer(const engine::Decision& decision, http::Response& response) const {
    (decision.allowed ? allowed_ : denied_).add();
    response.status = decision.allowed ? 200 : engine::refusal_status(decision);
    response.content_type = "application/json";
    engine::AnswerHeaders headers;
    headers.fill(decision);
    headers.append_to(response.headers);
    engine::append_check_json(decision, "", response.body);
    response.body += '\n';
  }

  engine::Engine& engine_;
  const Clock& clock_;
  const metrics::Counter allowed_;
  const metrics::Counter denied_;
  const metrics::Counter error_;
};

}  // namespace

http::AsyncHandler make_handler(engine::Engine& engine, const Clock& clock,
                                metrics::Registry& registry) {
  // WHY shared: a std::function is copied, and answers point into the one Api.
  const auto api = std::make_shared<const Api>(engine, clock, registry);
  return [api](const http::Request& request, http::Response& response, http::Done done) {
    api->handle(request, response, std::move(done));
  };
}

}  // namespace weir::api
