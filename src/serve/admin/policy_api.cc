#include "serve/admin/policy_api.h"

#include <time.h>

#include <array>
#include <utility>

#include "base/json.h"
#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::admin {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// "2024-05-01T12:00:00Z"
std::string utc(std::int64_t unix_ns) {
  const time_t seconds = unix_ns / kNsPerSecond;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

void refuse(http::Response& response, int status, std::string_view detail, const http::Done& done) {
  http::set_problem(response, status, detail);
  done();
}

// Where a change came from, for the log: the address, and the name that the caller gives itself.
std::string who(const http::Request& request) {
  std::string name = request.peer.to_string();
  const http1::Found actor = request.headers.find("x-weir-actor");
  if (actor.count != 1 || actor.value.empty()) return name;
  name += " (";
  for (const char c : actor.value.substr(0, 64)) name += c >= 0x20 && c < 0x7f ? c : '?';
  return name + ')';
}

void fill(const PolicyStatus& status, const Outcome& outcome, http::Response& response) {
  if (outcome.status != 200) {
    http::set_problem(response, outcome.status, outcome.detail);
    if (outcome.mistakes.empty()) return;
    response.body.resize(response.body.rfind('}'));
    response.body += ",\"mistakes\":";
    append_texts(response.body, outcome.mistakes);
    response.body += "}\n";
    return;
  }
  response.content_type = "application/json";
  response.body = "{\"done\":true";
  append_status(response.body, status);
  if (!outcome.text.empty()) {
    response.body += ",\"text\":";
    append_json_string(response.body, outcome.text);
  }
  response.body += "}\n";
}

// Hands the call to the control thread, and answers on the connection's own loop.
void run(Control& control, Change change, const http::Request& request, http::Response& response,
         http::Done done) {
  change.who = who(request);
  control.run(std::move(change),
              [&control, &response, loop = request.loop, done = std::move(done)](Outcome outcome) {
                loop->post([&control, &response, done, outcome = std::move(outcome)] {
                  fill(control.status(), outcome, response);
                  done();
                });
              });
}

bool refuse_change(const Access& access, const http::Request& request, http::Response& response) {
  if (access.token.empty()) {
    http::set_problem(response, 403, "changes want a token, and the policy has no admin.token");
    return true;
  }
  if (http::shows_token(request, access.token)) return false;
  http::refuse_without_token(response);
  return true;
}

void show_policy(Control& control, const Access& access, const http::Request& request,
                 http::Response& response, http::Done done) {
  if (request.method != "GET" && request.method != "HEAD") {
    response.add_header("Allow", "GET, HEAD");
    return refuse(response, 405, "the policy is changed in its file, or limit by limit", done);
  }
  if (!access.may_look) {
    http::refuse_without_token(response);
    return done();
  }
  run(control, {Change::Verb::kShow, ""}, request, response, std::move(done));
}

}  // namespace

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, texts[i]);
  }
  out += ']';
}

void append_status(std::string& out, const PolicyStatus& status) {
  out += ",\"generation\":" + std::to_string(status.generation) + ",\"policy\":";
  append_json_string(out, status.source);
  out += ",\"hash\":";
  append_json_string(out, status.hash);
  out += ",\"loaded_at\":\"" + utc(status.loaded_at_ns) + '"';
}

void policy_api(Control& control, const Access& access, const http::Request& request,
                http::Response& response, http::Done done) {
  if (request.path == "/v1/policy") {
    return show_policy(control, access, request, response, std::move(done));
  }
  if (request.path != "/v1/policy:reload") {
    return refuse(response, 404, "there are /v1/policy and /v1/policy:reload", done);
  }
  if (request.method != "POST") {
    response.add_header("Allow", "POST");
    return refuse(response, 405, "only POST is answered here", done);
  }
  if (refuse_change(access, request, response)) return done();
  run(control, {Change::Verb::kReload, ""}, request, response, std::move(done));
}

}  // namespace weir::admin
