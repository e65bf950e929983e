// POST /v1/check: one check or a batch, by the policy or by numbers that come along.

#include <memory>
#include <utility>
#include <vector>

#include "base/at_rest.h"
#include "engine/answer.h"
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
    asked->api->count(decision.allowed);
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
  decision.source = answer.known ? answer.source : Source::kFailOpen;
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
  const bool never = answer.verdict.outcome == Outcome::kNever;
  if (never && one.cost > answer.verdict.quota) one.reason = Reason::kCostExceedsLimit;
  if (!answer.known && decision.policy->policy().store.on_error == policy::OnError::kDeny) {
    decision.allowed = false;
    decision.source = one.source = Source::kFailClosed;
    one.verdict.outcome = Outcome::kNever;
    one.reason = Reason::kLimiterUnavailable;
  }
  decision.reason = one.reason;
  decision.named = 0;
  std::string_view id;
  if (answer.known && decision.allowed) {
    id = asked->api->id_of(
        engine::Receipt::of_adhoc(check.numbers, kAdhocFamily, check.key, one.cost, now));
  }
  on_decision(asked, index, decision, id);
}

}  // namespace

void check(const Api& api, const policy::Policy& policy, const http::Request& request,
           http::Response& response, http::Done done) {
  auto asked = AtRest<Asked>::take();
  if (const auto bad = read_check(request.body, policy, asked->body)) {
    return api.refuse(response, *bad, done);
  }
  asked->api = &api;
  asked->response = &response;
  asked->done = std::move(done);
  const std::size_t count = asked->body.checks.size();
  if (asked->body.batch) asked->decisions.resize(count);
  asked->waiting = count + 1;
  asked->began = api.timer().begin();
  Asked* const raw = asked.release();  // told() deletes it after the last answer
  const Instant now = request.at ? *request.at : api.now();
  for (std::size_t i = 0; i < count; ++i) {
    const CheckRequest& one = raw->body.checks[i];
    if (!one.adhoc) {
      api.engine().decide(one.attributes, now, one.cost,
                          [raw, i](const engine::Decision& decision) {
                            on_decision(raw, i, decision, raw->api->id_of(decision));
                          });
      continue;
    }
    const auto started = api.adhoc().decide(
        {kAdhocFamily, one.key, one.numbers, one.cost.value_or(1)}, now,
        [raw, i, now](const store::Answer& answer) { on_adhoc(raw, i, answer, now); });
    if (started) continue;
    // A single check is refused; in a batch, where others may have been charged, it is refused in
    // its place.
    if (!raw->body.batch) {
      const std::unique_ptr<Asked> owned(raw);
      return api.refuse(response, started.error(), owned->done);
    }
    raw->decisions[i] = "{\"allowed\":false,\"error\":\"these numbers cannot be held\"}";
    told(raw);
  }
  told(raw);
}

}  // namespace weir::api
