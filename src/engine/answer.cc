#include "engine/answer.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/check.h"
#include "base/wide.h"
#include "engine/compiled_policy.h"
#include "engine/rate_limit_item.h"
#include "limit/state.h"

namespace weir::engine {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr int kUnavailable = 503;
constexpr std::uint64_t kUnavailableRetrySeconds = 1;  // the store is probed that often

const policy::Response& response_of(const Decision& decision) {
  return decision.policy->policy().response;
}

bool sends(const Decision& decision, policy::HeaderFamily family) {
  const auto& families = response_of(decision).headers;
  return std::find(families.begin(), families.end(), family) != families.end();
}

void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Whether the verdict's numbers were asked of a store and mean something.
bool has_numbers(const LimitDecision& one) {
  return one.known() && one.reason != Reason::kMissingKey && !one.unlimited();
}

bool has_wait(const Verdict& verdict) {
  return verdict.outcome == Outcome::kDenied && verdict.retry_known;
}

// WHY from the key and the time and not a random number: the header, the body and the RateLimit
// field of one answer must say one thing, and a replay must say it again.
Duration jitter_of(const Decision& decision) {
  const Duration most = response_of(decision).retry_jitter;
  if (most <= Duration{0}) return Duration{0};
  const std::uint64_t spread = std::hash<std::string_view>{}(decision.keys) ^
                               static_cast<std::uint64_t>(decision.at.wall_ns) * 0x9e3779b97f4a7c15;
  const Wide share = Wide{spread} * static_cast<std::uint64_t>(most.count());
  return Duration(static_cast<std::int64_t>(share >> 64));
}

std::uint64_t wait_seconds(const Decision& decision, const Verdict& verdict) {
  return std::max<std::uint64_t>(ceil_seconds(verdict.retry_after + jitter_of(decision)), 1);
}

// Unix seconds of the moment `after` the decision, rounded up; 0 for one before 1970.
std::uint64_t unix_seconds(Instant at, Duration after) {
  const std::int64_t ns = at.wall_ns + after.count();
  return ns <= 0 ? 0 : ceil_seconds(Duration(ns));
}

bool is_listed(const LimitDecision& one) {
  return !one.shadow && has_numbers(one);
}

// Visits the limits that the list fields show: the first kMaxItems, and the named one in place of
// the last where it stands behind them.
template <typename Visit>
void visit_listed(const Decision& decision, Visit visit) {
  std::size_t shown = 0;
  bool named_shown = decision.named < 0;
  for (std::size_t i = 0; i < decision.limits.size(); ++i) {
    const LimitDecision& one = decision.limits[i];
    if (!is_listed(one)) continue;
    const bool is_named = static_cast<int>(i) == decision.named;
    const std::size_t room = AnswerHeaders::kMaxItems - shown;
    if (room == 0 ||
        (room == 1 && !named_shown && !is_named && is_listed(*decision.named_limit()))) {
      continue;
    }
    visit(one, shown == 0);
    named_shown = named_shown || is_named;
    ++shown;
  }
}

// `"login";r=0;t=10`
void append_state_item(std::string& out, const Decision& decision, const LimitDecision& one) {
  const Verdict& verdict = one.verdict;
  out += '"';
  out += one.name;
  out += '"';
  append_integer_parameter(out, "r", verdict.remaining);
  if (has_wait(verdict)) {
    append_integer_parameter(out, "t", wait_seconds(decision, verdict));
    return;
  }
  const bool grows = verdict.remaining < verdict.quota && verdict.next_after > Duration{0} &&
                     verdict.next_after < Duration(limit::kMaxSpanNs);
  if (grows) append_integer_parameter(out, "t", ceil_seconds(verdict.next_after));
}

void append_json_name(std::string& out, const LimitDecision* named) {
  if (named == nullptr) {
    out += "null";
    return;
  }
  out += '"';
  out += named->name;
  out += '"';
}

void append_message(std::string& out, const Decision& decision,
                    std::optional<std::uint64_t> retry_after) {
  const LimitDecision* named = decision.named_limit();
  if (decision.reason == Reason::kLimiterUnavailable) {
    out += "the rate limiter cannot decide now";
  } else if (decision.reason == Reason::kCostExceedsLimit) {
    out += "the request costs more than the limit can ever hold";
  } else if (decision.reason == Reason::kMissingKey) {
    out += "the request lacks what the limit counts by";
  } else if (named != nullptr && algorithm_of(*named->numbers) == Algorithm::kConcurrency) {
    out += "too many requests at once";
  } else {
    out += "too many requests";
  }
  if (!retry_after) return;
  out += ", retry after ";
  append_number(out, *retry_after);
  out += 's';
}

// `"quota":5,"remaining":0,"retry_after":9.4,...`: what the whole decision and each limit show.
void append_verdict(std::string& out, const LimitDecision* one) {
  const bool numbers = one != nullptr && has_numbers(*one);
  const auto field = [&](std::string_view key, std::uint64_t value) {
    out += key;
    numbers ? append_number(out, value) : void(out += "null");
  };
  const auto seconds = [&](std::string_view key, Duration value) {
    out += key;
    append_exact_seconds(out, value);
  };
  const Verdict verdict = numbers ? one->verdict : Verdict{};
  field(",\"quota\":", verdict.quota);
  field(",\"remaining\":", verdict.remaining);
  const bool refused = one != nullptr && !one->verdict.allowed();
  if (refused && !has_wait(one->verdict)) {
    out += ",\"retry_after\":null";
  } else {
    seconds(",\"retry_after\":", verdict.retry_after);
  }
  if (refused && !one->verdict.retry_known) seconds(",\"retry_at_most\":", verdict.retry_after);
  seconds(",\"reset_after\":", verdict.reset_after);
}

void append_origin(std::string& out, Source source, Reason reason) {
  out += ",\"source\":\"";
  out += to_string(source);
  out += "\",\"reason\":\"";
  out += to_string(reason);
  out += '"';
}

void append_limit_json(std::string& out, const LimitDecision& one) {
  out += "{\"allowed\":";
  out += one.verdict.allowed() ? "true" : "false";
  out += ",\"limit\":\"";
  out += one.name;
  out += '"';
  append_verdict(out, &one);
  out += ",\"delay\":";
  append_exact_seconds(out, one.verdict.delay);
  append_origin(out, one.source, one.reason);
  if (one.shadow) out += ",\"shadow\":true";
  out += '}';
}

}  // namespace

int refusal_status(const Decision& decision) {
  if (decision.reason == Reason::kLimiterUnavailable) return kUnavailable;
  return response_of(decision).status;
}

std::optional<std::uint64_t> retry_after_seconds(const Decision& decision) {
  if (decision.allowed) return std::nullopt;
  if (decision.reason == Reason::kLimiterUnavailable) return kUnavailableRetrySeconds;
  const LimitDecision* named = decision.named_limit();
  if (named == nullptr || !has_wait(named->verdict)) return std::nullopt;
  return wait_seconds(decision, named->verdict);
}

void AnswerHeaders::open(std::string_view name) {
  WEIR_CHECK(size_ < kMaxLines, "every line of an answer has its slot");
  slots_[size_] = {name, buffer_.size(), 0};
}

void AnswerHeaders::close() {
  slots_[size_++].end = buffer_.size();
}

void AnswerHeaders::add_number(std::string_view name, std::uint64_t value) {
  open(name);
  append_number(buffer_, value);
  close();
}

void AnswerHeaders::fill(const Decision& decision) {
  buffer_.clear();
  size_ = 0;
  using Family = policy::HeaderFamily;
  if (sends(decision, Family::kXRateLimit)) add_x_ratelimit(decision);
  if (sends(decision, Family::kRateLimit)) add_ratelimit(decision);
  if (sends(decision, Family::kRetryAfter)) {
    if (const auto seconds = retry_after_seconds(decision)) add_number("Retry-After", *seconds);
  }
  if (response_of(decision).shadow_header) add_shadow(decision);
}

void AnswerHeaders::add_x_ratelimit(const Decision& decision) {
  const LimitDecision* named = decision.named_limit();
  if (named == nullptr || !has_numbers(*named)) return;
  const Verdict& verdict = named->verdict;
  add_number("X-RateLimit-Limit", verdict.quota);
  add_number("X-RateLimit-Remaining", verdict.remaining);
  if (algorithm_of(*named->numbers) == Algorithm::kConcurrency) return;  // no moment is known
  const Duration after = has_wait(verdict) ? verdict.retry_after : verdict.reset_after;
  add_number("X-RateLimit-Reset", unix_seconds(decision.at, after));
}

void AnswerHeaders::add_ratelimit(const Decision& decision) {
  if (std::none_of(decision.limits.begin(), decision.limits.end(), is_listed)) return;
  open("RateLimit-Policy");
  visit_listed(decision, [this](const LimitDecision& one, bool first) {
    if (!first) buffer_ += ", ";
    buffer_ += one.policy_item;
  });
  close();
  open("RateLimit");
  visit_listed(decision, [&](const LimitDecision& one, bool first) {
    if (!first) buffer_ += ", ";
    append_state_item(buffer_, decision, one);
  });
  close();
}

// The shadow limits that would have refused.
void AnswerHeaders::add_shadow(const Decision& decision) {
  std::size_t shown = 0;
  for (const LimitDecision& one : decision.limits) {
    if (!one.shadow || one.verdict.allowed() || shown == kMaxItems) continue;
    if (shown++ == 0) {
      open("X-RateLimit-Shadow");
    } else {
      buffer_ += ", ";
    }
    buffer_ += one.name;
  }
  if (shown > 0) close();
}

AnswerHeaders::Line AnswerHeaders::operator[](std::size_t i) const {
  const Slot& slot = slots_[i];
  return {slot.name, std::string_view(buffer_).substr(slot.begin, slot.end - slot.begin)};
}

void AnswerHeaders::append_to(std::string& out) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const Line line = (*this)[i];
    out += line.name;
    out += ": ";
    out += line.value;
    out += "\r\n";
  }
}

bool is_rate_limit_header(std::string_view name) {
  const auto starts = [name](std::string_view prefix) {
    return name.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), name.begin(), [](char ours, char sent) {
             return (sent >= 'A' && sent <= 'Z' ? sent - 'A' + 'a' : sent) == ours;
           });
  };
  constexpr std::string_view kBare = "ratelimit";
  return starts("x-ratelimit-") ||
         (starts(kBare) && (name.size() == kBare.size() || name[kBare.size()] == '-'));
}

void append_refusal_body(const Decision& decision, std::string& out) {
  WEIR_CHECK(!decision.allowed, "only a refused request is told that it was");
  const bool unavailable = decision.reason == Reason::kLimiterUnavailable;
  const auto retry_after = retry_after_seconds(decision);
  out += "{\"code\":\"";
  out += unavailable ? "LIMITER_UNAVAILABLE" : "RATE_LIMITED";
  out += "\",\"message\":\"";
  append_message(out, decision, retry_after);
  out += "\",\"limit\":";
  append_json_name(out, decision.named_limit());
  out += ",\"retry_after\":";
  retry_after ? append_number(out, *retry_after) : void(out += "null");
  if (decision.reason != Reason::kNone && !unavailable) {
    out += ",\"reason\":\"";
    out += to_string(decision.reason);
    out += '"';
  }
  out += '}';
}

void append_exact_seconds(std::string& out, Duration duration) {
  const std::int64_t ns = duration.count();
  append_number(out, static_cast<std::uint64_t>(ns / kNsPerSecond));
  auto rest = static_cast<std::uint32_t>(ns % kNsPerSecond);
  if (rest == 0) return;
  char digits[9];
  for (int i = 8; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  const std::string_view fraction(digits, 9);
  out += '.';
  out += fraction.substr(0, fraction.find_last_not_of('0') + 1);
}

void append_check_json(const Decision& decision, std::string_view id, std::string& out) {
  out += "{\"allowed\":";
  out += decision.allowed ? "true" : "false";
  out += ",\"limit\":";
  append_json_name(out, decision.named_limit());
  append_verdict(out, decision.named_limit());
  out += ",\"delay\":";
  append_exact_seconds(out, decision.delay);
  append_origin(out, decision.source, decision.reason);
  out += ",\"id\":\"";
  out += id;
  out += "\",\"limits\":[";
  for (std::size_t i = 0; i < decision.limits.size(); ++i) {
    if (i > 0) out += ',';
    append_limit_json(out, decision.limits[i]);
  }
  out += "]}";
}

}  // namespace weir::engine
