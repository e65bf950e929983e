#include "engine/refusal_body.h"

#include <optional>

#include "base/check.h"
#include "base/fixed_text.h"
#include "engine/answer.h"
#include "engine/compiled_policy.h"
#include "policy/body_template.h"

namespace weir::engine {
namespace {

// An object without its list of limits: a name of at most 64 bytes, and a dozen members.
using Piece = FixedText<1024>;
using Message = FixedText<128>;

// draft-ietf-httpapi-ratelimit-headers, "Problem Types".
constexpr std::string_view kQuotaExceeded =
    "https://iana.org/assignments/http-problem-types#quota-exceeded";
constexpr std::string_view kReducedCapacity =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
// Neither speaks of requests that no quota refused: RFC 9457 section 4.2.1.
constexpr std::string_view kNoType = "about:blank";

bool is_unavailable(const Decision& decision) {
  return decision.reason == Reason::kLimiterUnavailable;
}

// Why no wait helps, where that is so.
std::string_view reason_of(const Decision& decision) {
  const bool told = decision.reason != Reason::kNone && !is_unavailable(decision);
  return told ? to_string(decision.reason) : std::string_view();
}

std::string_view sentence_of(const Decision& decision) {
  if (is_unavailable(decision)) return "the rate limiter cannot decide now";
  if (decision.reason == Reason::kCostExceedsLimit) {
    return "the request costs more than the limit can ever hold";
  }
  if (decision.reason == Reason::kBlocked) return "the request is blocked";
  if (decision.reason == Reason::kBanned) return "the client is banned";
  if (decision.reason == Reason::kMissingKey) return "the request lacks what the limit counts by";
  const LimitDecision* named = decision.named_limit();
  if (named != nullptr && algorithm_of(*named->numbers) == Algorithm::kConcurrency) {
    return "too many requests at once";
  }
  return "too many requests";
}

Message message_of(const Decision& decision, std::optional<std::uint64_t> retry_after) {
  Message out;
  out += sentence_of(decision);
  if (!retry_after) return out;
  out += ", retry after ";
  out.add_number(*retry_after);
  out += 's';
  return out;
}

// `"limit":"login","retry_after":5,"reason":"..."`: what both kinds of JSON say.
void append_facts(Piece& out, const Decision& decision, std::optional<std::uint64_t> retry_after) {
  out += "\"limit\":";
  append_json_name(out, decision.named_limit());
  out += ",\"retry_after\":";
  retry_after ? out.add_number(*retry_after) : void(out += "null");
  const std::string_view reason = reason_of(decision);
  if (reason.empty()) return;
  out += ",\"reason\":\"";
  out += reason;
  out += '"';
}

void append_json(const Decision& decision, std::string& out) {
  const auto retry_after = retry_after_seconds(decision);
  Piece body;
  body += "{\"code\":\"";
  body += refusal_code(decision);
  body += "\",\"message\":\"";
  body += message_of(decision, retry_after).view();
  body += "\",";
  append_facts(body, decision, retry_after);
  body += '}';
  out += body.view();
}

// `,"violated-policies":["login"]`: the limits that refused, in file order; as many as the list
// fields may hold.
void append_violated(const Decision& decision, std::string& out) {
  std::size_t shown = 0;
  for (const LimitDecision& one : decision.limits) {
    if (one.shadow || one.verdict.allowed() || shown == AnswerHeaders::kMaxItems) continue;
    out += shown++ == 0 ? ",\"violated-policies\":[\"" : ",\"";
    out += one.name;
    out += '"';
  }
  if (shown > 0) out += ']';
}

std::string_view problem_type(const Decision& decision) {
  switch (decision.reason) {
    case Reason::kLimiterUnavailable:
      return kReducedCapacity;
    case Reason::kBlocked:
    case Reason::kBanned:
    case Reason::kMissingKey:
      return kNoType;
    default:
      return kQuotaExceeded;
  }
}

std::string_view problem_title(const Decision& decision) {
  switch (decision.reason) {
    case Reason::kLimiterUnavailable:
      return "Temporarily reduced capacity";
    case Reason::kBlocked:
      return "Request is blocked";
    case Reason::kBanned:
      return "Client is banned";
    case Reason::kMissingKey:
      return "Request cannot be counted";
    default:
      return "Quota exceeded";
  }
}

void append_problem(const Decision& decision, std::string& out) {
  const auto retry_after = retry_after_seconds(decision);
  Piece head;
  head += "{\"type\":\"";
  head += problem_type(decision);
  head += "\",\"title\":\"";
  head += problem_title(decision);
  head += "\",\"status\":";
  head.add_number(static_cast<std::uint64_t>(refusal_status(decision)));
  head += ",\"detail\":\"";
  head += message_of(decision, retry_after).view();
  head += "\",\"code\":\"";
  head += refusal_code(decision);
  head += "\",";
  append_facts(head, decision, retry_after);
  out += head.view();
  append_violated(decision, out);
  out += '}';
}

void append_template(const policy::BodyTemplate& body, const Decision& decision, std::string& out) {
  const auto retry_after = retry_after_seconds(decision);
  const Message message = message_of(decision, retry_after);
  policy::BodyTemplate::Values values;
  values.status = refusal_status(decision);
  values.code = refusal_code(decision);
  values.message = message.view();
  if (const LimitDecision* named = decision.named_limit()) values.limit = named->name;
  values.reason = reason_of(decision);
  values.retry_after = retry_after;
  if (const auto numbers = named_numbers(decision)) {
    values.quota = numbers->quota;
    values.remaining = numbers->remaining;
    values.reset = numbers->reset;
  }
  body.render(values, out);
}

}  // namespace

std::string_view append_refusal_body(const Decision& decision, std::string& out) {
  WEIR_CHECK(!decision.allowed, "only a refused request is told that it was");
  const policy::Response& response = decision.policy->policy().response;
  switch (response.body) {
    case policy::BodyFormat::kJson:
      break;
    case policy::BodyFormat::kProblemJson:
      append_problem(decision, out);
      return "application/problem+json";
    case policy::BodyFormat::kTemplate:
      append_template(*response.body_template, decision, out);
      return response.body_template->content_type();
  }
  append_json(decision, out);
  return "application/json";
}

}  // namespace weir::engine
