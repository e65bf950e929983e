#include "serve/grpc/rate_limit_answer.h"

#include <algorithm>
#include <limits>

#include "base/seconds.h"
#include "engine/answer.h"
#include "engine/check_json.h"
#include "engine/naming.h"
#include "engine/rate_limit_item.h"
#include "engine/refusal_body.h"
#include "serve/grpc/current_limit.h"

namespace weir::grpc {
namespace {

using rls::Code;
using rls::DescriptorStatus;

constexpr std::uint32_t kMax = std::numeric_limits<std::uint32_t>::max();

std::uint32_t narrow(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kMax));
}

// What a give-back leaves to wait for is not told, unless that is nothing: the answer is older.
void set_numbers(DescriptorStatus& status, const Verdict& verdict, std::uint64_t given_back) {
  const std::uint64_t room = verdict.quota - verdict.remaining;
  status.limit_remaining = narrow(verdict.remaining + std::min(room, given_back));
  if (given_back > 0) {
    if (given_back >= room) status.seconds_until_reset = 0;
    return;
  }
  const bool wait = verdict.outcome == Outcome::kDenied && verdict.retry_known;
  status.seconds_until_reset = ceil_seconds(wait ? verdict.retry_after : verdict.reset_after);
}

DescriptorStatus status_of(const engine::Decision& decision, bool given_back) {
  DescriptorStatus status;
  status.code = decision.allowed ? Code::kOk : Code::kOverLimit;
  const engine::LimitDecision* named = decision.named_limit();
  if (named == nullptr) {
    const auto& met = decision.limits;
    const bool unlimited = std::any_of(
        met.begin(), met.end(), [](const auto& one) { return !one.shadow && one.unlimited(); });
    if (unlimited) status.limit_remaining = kMax;
    return status;
  }
  if (!named->known()) return status;
  status.current_limit = current_limit(*named->numbers, named->name);
  if (named->reason == Reason::kMissingKey) return status;
  set_numbers(status, named->verdict, given_back && decision.allowed ? named->cost : 0);
  return status;
}

DescriptorStatus status_of(const DescriptorAnswer& answer, bool given_back) {
  if (answer.decided) return status_of(answer.decision, given_back);
  DescriptorStatus status;
  if (!answer.told || !answer.told->known) return status;
  status.code = answer.is_refused() ? Code::kOverLimit : Code::kOk;
  status.current_limit = rls::CurrentLimit{answer.limit->requests_per_unit, answer.limit->unit, {}};
  set_numbers(status, answer.told->verdict, given_back && !answer.is_refused() ? answer.cost : 0);
  return status;
}

// Null where no limit answered.
const Verdict* verdict_of(const DescriptorAnswer& answer) {
  if (!answer.decided) return answer.told && answer.told->known ? &answer.told->verdict : nullptr;
  const engine::LimitDecision* named = answer.decision.named_limit();
  return named == nullptr ? nullptr : &named->verdict;
}

// The descriptor that the headers speak of; null when no limit was met, and nothing blocked.
const DescriptorAnswer* most_telling(std::span<const DescriptorAnswer> answers) {
  const DescriptorAnswer* found = nullptr;
  for (const DescriptorAnswer& answer : answers) {
    const Verdict* verdict = verdict_of(answer);
    if (verdict == nullptr) {
      if (answer.decided && !answer.decision.allowed) return &answer;  // blocked, or banned
      continue;
    }
    if (found == nullptr || engine::is_named_over(*verdict, *verdict_of(*found))) found = &answer;
  }
  return found;
}

void add_headers(rls::Response& response, const engine::Decision& decision) {
  static thread_local engine::AnswerHeaders headers;
  headers.fill(decision);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const engine::AnswerHeaders::Line line = headers[i];
    response.headers.emplace_back(line.lower_name, line.value);
  }
}

void add_refusal(rls::Response& response, const engine::Decision& decision) {
  const std::string_view type = engine::append_refusal_body(decision, response.raw_body);
  response.headers.emplace_back("content-type", type);
}

void add_metadata(rls::Response& response, const engine::Decision& decision) {
  if (const engine::LimitDecision* named = decision.named_limit()) {
    response.metadata.emplace_back("limit", named->name);
  }
  response.metadata.emplace_back("source", to_string(decision.source));
  if (decision.reason != Reason::kNone) {
    response.metadata.emplace_back("reason", to_string(decision.reason));
  }
  if (decision.allowed && decision.delay > Duration{0}) {
    engine::append_exact_seconds(response.delay, decision.delay);
  }
}

void add_decision(rls::Response& response, const engine::Decision& decision) {
  add_headers(response, decision);
  if (!decision.allowed) add_refusal(response, decision);
  add_metadata(response, decision);
}

// An override's answer, as that of a policy's limit would be.
void add_override(rls::Response& response, const DescriptorAnswer& answer,
                  const AnsweredCall& call) {
  constexpr std::string_view kName = "override";
  const Numbers numbers = bucket_of(*answer.limit);
  std::string item;
  engine::append_policy_item(item, kName, numbers, answer.told->verdict.quota);
  engine::LimitDecision limit;
  limit.name = kName;
  limit.numbers = &numbers;
  limit.policy_item = item;
  limit.verdict = answer.told->verdict;
  limit.source = answer.told->source;
  engine::Decision decision;
  decision.allowed = limit.verdict.allowed();
  decision.named = 0;
  if (limit.verdict.outcome == Outcome::kNever) decision.reason = Reason::kCostExceedsLimit;
  decision.source = limit.source;
  decision.limits = {limit};
  decision.at = call.now;
  decision.instances = call.instances;
  decision.keys = answer.key;
  decision.policy = call.policy;
  add_decision(response, decision);
}

}  // namespace

TokenBucket bucket_of(const rls::Override& limit) {
  return {Rate{limit.requests_per_unit, length_of(limit.unit)}, limit.requests_per_unit};
}

Result<bool> make_response(std::span<const DescriptorAnswer> answers, const AnsweredCall& call,
                           rls::Response& response) {
  response.clear();
  for (const DescriptorAnswer& answer : answers) {
    if (answer.is_unavailable()) {
      return Error{ErrorCode::kUnavailable, "the rate limiter cannot decide now"};
    }
    response.statuses.push_back(status_of(answer, call.given_back));
    if (response.statuses.back().code == Code::kOverLimit) {
      response.overall_code = Code::kOverLimit;
    }
  }
  if (const DescriptorAnswer* telling = most_telling(answers)) {
    telling->decided ? add_decision(response, telling->decision)
                     : add_override(response, *telling, call);
  }
  return true;
}

}  // namespace weir::grpc
