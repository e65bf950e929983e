#include "serve/api/api.h"

#include "engine/answer.h"
#include "engine/check_json.h"
#include "serve/http/problem.h"

namespace weir::api {
namespace {

constexpr int kTooManyRequests = 429;

}  // namespace

Api::Api(engine::Engine& engine, engine::Adhoc& adhoc, const Clock& clock,
         metrics::Registry& registry)
    : engine_(engine),
      adhoc_(adhoc),
      clock_(clock),
      requests_(registry, "api"),
      timer_(registry, "api", clock) {}

void Api::refuse(http::Response& response, int status, std::string_view detail,
                 std::string_view field, const http::Done& done) const {
  requests_.error.add();
  http::set_problem(response, status, detail, field);
  done();
}

void Api::refuse(http::Response& response, const Error& error, const http::Done& done) const {
  refuse(response, error.code == ErrorCode::kNotFound ? 404 : 400, error.message, {}, done);
}

void Api::refuse_unknown(http::Response& response, std::string_view then,
                         const http::Done& done) const {
  refuse(response, 503,
         "the store did not answer, and may have done it or not: " + std::string(then), {}, done);
}

std::string_view Api::id_of(const engine::Decision& decision) const {
  thread_local std::string id;
  id.clear();
  engine_.append_id(decision, id);
  return id;
}

std::string_view Api::id_of(const engine::Receipt& receipt) const {
  thread_local std::string id;
  id.clear();
  engine_.append_id(receipt, id);
  return id;
}

void Api::answer(const engine::Decision& decision, std::string_view id,
                 http::Response& response) const {
  count(decision);
  response.status = decision.allowed ? 200 : engine::refusal_status(decision);
  // WHY not 403: callers know 429 as "no", and let through what they do not know.
  if (decision.reason == Reason::kBlocked) response.status = kTooManyRequests;
  response.content_type = "application/json";
  engine::AnswerHeaders::append(decision, response.headers);
  engine::append_check_json(decision, id, response.body);
  response.body += '\n';
}

}  // namespace weir::api
