#include "serve/grpc/rate_limit_answer.h"

#include <algorithm>
#include <limits>

#include "base/seconds.h"
#include "engine/answer.h"
#include "engine/check_json.h"
#include "engine/naming.h"
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

void set_numbers(DescriptorStatus& status, const Verdict& verdict, std::uint64_t given_back) {
  const std::uint64_t room = verdict.quota - verdict.remaining;
  status.limit_remaining = narrow(verdict.remaining + std::min(room, given_back));
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

// The descriptor that the headers speak of; null when no limit of the policy was met, and nothing
// blocked.
const engine::Decision* most_telling(std::span<const DescriptorAnswer> answers) {
  const engine::Decision* found = nullptr;
  for (const DescriptorAnswer& answer : answers) {
    if (!answer.decided) continue;
    const engine::LimitDecision* named = answer.decision.named_limit();
    if (named == nullptr) {
      if (!answer.decision.allowed) return &answer.decision;  // blocked, or banned
      continue;
    }
    if (found != nullptr && !engine::is_named_over(named->verdict, found->named_limit()->verdict)) {
      continue;
    }
    found = &answer.decision;
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

}  // namespace

Result<bool> make_response(std::span<const DescriptorAnswer> answers, bool given_back,
                           rls::Response& response) {
  response.clear();
  for (const DescriptorAnswer& answer : answers) {
    if (answer.is_unavailable()) {
      return Error{ErrorCode::kUnavailable, "the rate limiter cannot decide now"};
    }
    response.statuses.push_back(status_of(answer, given_back));
    if (response.statuses.back().code == Code::kOverLimit) {
      response.overall_code = Code::kOverLimit;
    }
  }
  if (const engine::Decision* decision = most_telling(answers)) {
    add_headers(response, *decision);
    if (!decision->allowed) add_refusal(response, *decision);
    add_metadata(response, *decision);
  }
  return true;
}

}  // namespace weir::grpc
