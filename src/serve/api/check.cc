// POST /v1/check: one check or a batch, by the policy or by numbers that come along.

#include <memory>
#include <utility>
#include <vector>

#include "base/at_rest.h"
#include "base/check.h"
#include "engine/check_json.h"
#include "engine/compiled_policy.h"
#include "engine/rate_limit_item.h"
#include "serve/api/api.h"
#include "serve/api/check_request.h"

namespace weir::api {
namespace {

constexpr std::string_view kAdhocFamily = "~adhoc";

// What lives until the last decision of a request. Used again by its thread.
struct Asked {
  const Api* api = nullptr;
  http::Response* response = nullptr;
  http::Done done;
  CheckBody body;
  std::vector<std::string> decisions;  // of a batch, as JSON
  std::size_t waiting = 0;
  std::int64_t began = 0;  // for the timer; of a batch, the last answer counts

  // What a batch has used may be large, and goes.
  void clear() {
    done = nullptr;
    if (body.batch) body = {};
    decisions = {};
  }
};

void finish_batch(Asked& asked) {
  http::Response& response = *asked.response;
  response.content_type = "application/json";
  response.body = "{\"decisions\":[";
  for (std::size_t i = 0; i < asked.decisions.size(); ++i) {
    if (i > 0) response.body += ',';
    response.body += asked.decisions[i];
  }
  response.body += "]}\n";
}

// One answer less to wait for; after the last, the request is answered.
void told(Asked* asked) {
  if (--asked->waiting > 0) return;
  std::unique_ptr<Asked> owned(asked);
  asked->api->timer().end(asked->began);
  if (asked->body.batch) finish_batch(*asked);
  const http::Done done = std::move(asked->done);
  AtRest<Asked>::give(std::move(owned));
  done();
}

void on_decision(Asked* asked, std::size_t index, const engine::Decision& decision,
                 std::string_view id) {
  if (asked->body.batch) {
    asked->api->count(decision);
    engine::append_check_json(decision, id, asked->decisions[index]);
  } else {
    asked->api->answer(decision, id, *asked->response);
  }
  told(asked);
}

// Numbers that came along, told as a decision whose only limit has no name.
void on_adhoc(Asked* asked, std::size_t index, const store::Answer& answer, Instant now) {
  static const policy::Limit kNameless;
  const CheckRequest& check = asked->body.checks[index];
  const Numbers numbers = check.numbers;
  engine::Decision decision;
  decision.policy = asked->api->engine().current();
  decision.at = now;
  decision.instances = asked->api->engine().instances();
  decision.source = answer.source;
  decision.allowed = answer.verdict.allowed();
  engine::LimitDecision& one = decision.limits.emplace_back();
  one.name = "adhoc";
  one.limit = &kNameless;
  one.numbers = &numbers;
  std::string item;
  engine::append_policy_item(item, one.name, numbers, answer.verdict.quota);
  one.policy_item = item;
  one.verdict = answer.verdict;
  one.source = decision.source;
  one.cost = check.cost.value_or(1);
  const bool never = one.known() && answer.verdict.outcome == Outcome::kNever;
  if (never && one.cost > answer.verdict.quota) one.reason = Reason::kCostExceedsLimit;
  if (!one.known() && !decision.allowed) one.reason = Reason::kLimiterUnavailable;
  decision.reason = one.reason;
  decision.named = 0;
  std::string_view id;
  if (answer.known && decision.allowed) {
    id = asked->api->id_of(
        engine::Receipt::of_adhoc(check.numbers, kAdhocFamily, check.key, one.cost, now));
  }
  on_decision(asked, index, decision, id);
}

// Numbers that no counter can hold, before anything is charged.
std::optional<BadField> unholdable(const Api& api, const CheckBody& body) {
  for (std::size_t i = 0; i < body.checks.size(); ++i) {
    const CheckRequest& check = body.checks[i];
    if (!check.adhoc) continue;
    const auto held = api.adhoc().check(check.numbers);
    if (held) continue;
    const std::string place = body.batch ? "checks[" + std::to_string(i) + "]." : "";
    return BadField{place + "rate", held.error().message};
  }
  return std::nullopt;
}

void ask(const Api& api, Asked* asked, std::size_t index, Instant now) {
  const CheckRequest& one = asked->body.checks[index];
  if (!one.adhoc) {
    return api.engine().decide(one.attributes, now, one.cost,
                               [asked, index](const engine::Decision& told) {
                                 on_decision(asked, index, told, asked->api->id_of(told));
                               });
  }
  const auto started = api.adhoc().decide(
      {kAdhocFamily, one.key, one.numbers, one.cost.value_or(1)}, now,
      [asked, index, now](const store::Answer& told) { on_adhoc(asked, index, told, now); });
  WEIR_CHECK(started.has_value(), "unholdable() has looked at the numbers");
}

}  // namespace

void check(const Api& api, const policy::Policy& policy, const http::Request& request,
           http::Response& response, http::Done done) {
  auto asked = AtRest<Asked>::take();
  auto bad = read_check(request.body, policy, asked->body);
  if (!bad) bad = unholdable(api, asked->body);
  if (bad) return api.refuse(response, *bad, done);
  asked->api = &api;
  asked->response = &response;
  asked->done = std::move(done);
  const std::size_t count = asked->body.checks.size();
  if (asked->body.batch) asked->decisions.resize(count);
  asked->waiting = count + 1;
  asked->began = api.timer().begin();
  Asked* const raw = asked.release();  // told() deletes it after the last answer
  const Instant now = api.now_of(request);
  for (std::size_t i = 0; i < count; ++i) ask(api, raw, i, now);
  told(raw);
}

}  // namespace weir::api
