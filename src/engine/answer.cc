#include "engine/answer.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/fixed_text.h"
#include "base/seconds.h"
#include "base/wide.h"
#include "engine/compiled_policy.h"
#include "engine/rate_limit_item.h"
#include "limit/state.h"

namespace weir::engine {
namespace {

constexpr int kUnavailable = 503;
constexpr int kForbidden = 403;
constexpr std::uint64_t kUnavailableRetrySeconds = 1;  // the store is probed that often

constexpr AnswerHeaders::Name kLimitName{"X-RateLimit-Limit", "x-ratelimit-limit"};
constexpr AnswerHeaders::Name kRemainingName{"X-RateLimit-Remaining", "x-ratelimit-remaining"};
constexpr AnswerHeaders::Name kResetName{"X-RateLimit-Reset", "x-ratelimit-reset"};
constexpr AnswerHeaders::Name kShadowName{"X-RateLimit-Shadow", "x-ratelimit-shadow"};
constexpr AnswerHeaders::Name kPolicyName{"RateLimit-Policy", "ratelimit-policy"};
constexpr AnswerHeaders::Name kRateLimitName{"RateLimit", "ratelimit"};
constexpr AnswerHeaders::Name kRetryName{"Retry-After", "retry-after"};

// One object of JSON: at most two names of 64 bytes, and a dozen members.
using Piece = FixedText<1024>;
// Seven lines, of which two list kMaxItems items of an ItemText each and one as many names.
using HeaderText = FixedText<5 * 1024>;
using VerdictText = FixedText<256>;  // five numbers of at most 20 digits, and their names

const policy::Response& response_of(const Decision& decision) {
  return decision.policy->policy().response;
}

bool sends(const Decision& decision, policy::HeaderFamily family) {
  const auto& families = response_of(decision).headers;
  return std::find(families.begin(), families.end(), family) != families.end();
}

bool has_quota(const LimitDecision& one) {
  return one.known() && one.reason != Reason::kMissingKey && !one.unlimited();
}

// Whether the verdict's numbers were asked of a store and mean something.
bool has_numbers(const LimitDecision& one) {
  return one.asked && has_quota(one);
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

std::uint64_t wait_seconds(const Decision& decision, Duration wait) {
  return std::max<std::uint64_t>(ceil_seconds(wait + jitter_of(decision)), 1);
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
void append_state_item(HeaderText& out, const Decision& decision, const LimitDecision& one) {
  const Verdict& verdict = one.verdict;
  out += '"';
  out += one.name;
  out += '"';
  append_integer_parameter(out, "r", verdict.remaining);
  if (has_wait(verdict)) {
    append_integer_parameter(out, "t", wait_seconds(decision, verdict.retry_after));
    return;
  }
  const bool grows = verdict.remaining < verdict.quota && verdict.next_after > Duration{0} &&
                     verdict.next_after < Duration(limit::kMaxSpanNs);
  if (grows) append_integer_parameter(out, "t", ceil_seconds(verdict.next_after));
}

// "9.4"; see append_exact_seconds.
template <typename Text>
void add_exact_seconds(Text& out, Duration duration) {
  const std::int64_t ns = duration.count();
  out.add_number(static_cast<std::uint64_t>(ns / kNsPerSecond));
  const auto rest = static_cast<std::uint64_t>(ns % kNsPerSecond);
  if (rest == 0) return;
  char digits[10];  // a 1 in front keeps the zeros behind it
  write_decimal(digits, kNsPerSecond + rest);
  std::size_t size = sizeof digits;
  while (digits[size - 1] == '0') --size;
  digits[0] = '.';
  out += std::string_view(digits, size);
}

// Of a refusal that no limit made: blocked, banned, or more counters than can be asked at once.
void append_wait_alone(VerdictText& out, const Decision& decision) {
  out += ",\"quota\":null,\"remaining\":null,\"retry_after\":";
  if (decision.ban_left > Duration{0}) {
    add_exact_seconds(out, decision.ban_left);
  } else {
    out += "null";
  }
  out += ",\"reset_after\":0";
}

// `"quota":5,"remaining":0,"retry_after":9.4,...`: what the whole decision and each limit show.
void append_verdict(VerdictText& out, const LimitDecision* one) {
  const bool numbers = one != nullptr && has_numbers(*one);
  const auto field = [&](std::string_view key, bool shown, std::uint64_t value) {
    out += key;
    shown ? out.add_number(value) : void(out += "null");
  };
  const auto seconds = [&](std::string_view key, Duration value) {
    out += key;
    add_exact_seconds(out, value);
  };
  const Verdict verdict = numbers ? one->verdict : Verdict{};
  const bool quota = one != nullptr && has_quota(*one);
  field(",\"quota\":", quota, quota ? one->verdict.quota : 0);
  field(",\"remaining\":", numbers, verdict.remaining);
  const bool refused = one != nullptr && !one->verdict.allowed();
  if (refused && !has_wait(one->verdict)) {
    out += ",\"retry_after\":null";
  } else {
    seconds(",\"retry_after\":", verdict.retry_after);
  }
  if (refused && !one->verdict.retry_known) seconds(",\"retry_at_most\":", verdict.retry_after);
  seconds(",\"reset_after\":", verdict.reset_after);
}

void append_origin(Piece& out, Source source, Reason reason) {
  out += ",\"source\":\"";
  out += to_string(source);
  out += "\",\"reason\":\"";
  out += to_string(reason);
  out += '"';
}

// `verdict`: what append_verdict says of it.
void append_limit_json(Piece& out, const LimitDecision& one, std::string_view verdict) {
  out += "{\"allowed\":";
  out += one.verdict.allowed() ? "true" : "false";
  out += ",\"limit\":\"";
  out += one.name;
  out += '"';
  out += verdict;
  out += ",\"delay\":";
  add_exact_seconds(out, one.verdict.delay);
  append_origin(out, one.source, one.reason);
  if (one.shadow) out += ",\"shadow\":true";
  out += '}';
}

}  // namespace

int refusal_status(const Decision& decision) {
  if (decision.reason == Reason::kLimiterUnavailable) return kUnavailable;
  if (decision.reason == Reason::kBlocked) return kForbidden;
  return response_of(decision).status;
}

std::optional<std::uint64_t> retry_after_seconds(const Decision& decision) {
  if (decision.allowed) return std::nullopt;
  if (decision.reason == Reason::kLimiterUnavailable) return kUnavailableRetrySeconds;
  if (decision.ban_left > Duration{0}) return wait_seconds(decision, decision.ban_left);
  const LimitDecision* named = decision.named_limit();
  if (named == nullptr || !has_wait(named->verdict)) return std::nullopt;
  return wait_seconds(decision, named->verdict.retry_after);
}

std::optional<NamedNumbers> named_numbers(const Decision& decision) {
  const LimitDecision* named = decision.named_limit();
  if (named == nullptr || !has_numbers(*named)) return std::nullopt;
  const Verdict& verdict = named->verdict;
  NamedNumbers numbers{verdict.quota, verdict.remaining, std::nullopt};
  if (algorithm_of(*named->numbers) == Algorithm::kConcurrency) return numbers;
  const Duration after = has_wait(verdict) ? verdict.retry_after : verdict.reset_after;
  numbers.reset = unix_seconds(decision.at, after);
  return numbers;
}

// Puts all lines together before they go into the buffer. WHY names as template arguments: then
// their text is a few moves, and no call of memcpy.
class AnswerHeaders::Builder {
 public:
  Builder(const Decision& decision, std::array<Slot, kMaxLines>& slots)
      : decision_(decision), slots_(slots) {}

  void add_x_ratelimit();
  void add_ratelimit();
  void add_retry_after();
  void add_shadow();

  std::size_t size() const { return size_; }
  std::string_view view() const { return text_.view(); }

 private:
  template <const Name& name>
  void open() {
    WEIR_CHECK(size_ < kMaxLines, "every line of an answer has its slot");
    text_ += name.shown;
    text_ += ": ";
    slots_[size_] = {name, text_.size(), 0};
  }
  void close() {
    slots_[size_++].end = text_.size();
    text_ += "\r\n";
  }
  template <const Name& name>
  void add_number(std::uint64_t value) {
    open<name>();
    text_.add_number(value);
    close();
  }

  const Decision& decision_;
  std::array<Slot, kMaxLines>& slots_;
  std::size_t size_ = 0;
  HeaderText text_;
};

void AnswerHeaders::fill(const Decision& decision) {
  Builder lines(decision, slots_);
  using Family = policy::HeaderFamily;
  if (sends(decision, Family::kXRateLimit)) lines.add_x_ratelimit();
  if (sends(decision, Family::kRateLimit)) lines.add_ratelimit();
  if (sends(decision, Family::kRetryAfter)) lines.add_retry_after();
  if (response_of(decision).shadow_header) lines.add_shadow();
  buffer_ = lines.view();
  size_ = lines.size();
}

void AnswerHeaders::Builder::add_x_ratelimit() {
  const auto numbers = named_numbers(decision_);
  if (!numbers) return;
  add_number<kLimitName>(numbers->quota);
  add_number<kRemainingName>(numbers->remaining);
  if (numbers->reset) add_number<kResetName>(*numbers->reset);
}

void AnswerHeaders::Builder::add_ratelimit() {
  if (std::none_of(decision_.limits.begin(), decision_.limits.end(), is_listed)) return;
  open<kPolicyName>();
  visit_listed(decision_, [this](const LimitDecision& one, bool first) {
    if (!first) text_ += ", ";
    text_ += one.policy_item;
  });
  close();
  open<kRateLimitName>();
  visit_listed(decision_, [this](const LimitDecision& one, bool first) {
    if (!first) text_ += ", ";
    append_state_item(text_, decision_, one);
  });
  close();
}

void AnswerHeaders::Builder::add_retry_after() {
  if (const auto seconds = retry_after_seconds(decision_)) add_number<kRetryName>(*seconds);
}

// The shadow limits that would have refused.
void AnswerHeaders::Builder::add_shadow() {
  std::size_t shown = 0;
  for (const LimitDecision& one : decision_.limits) {
    if (!one.shadow || one.verdict.allowed() || shown == kMaxItems) continue;
    if (shown++ == 0) {
      open<kShadowName>();
    } else {
      text_ += ", ";
    }
    text_ += one.name;
  }
  if (shown > 0) close();
}

AnswerHeaders::Line AnswerHeaders::operator[](std::size_t i) const {
  const Slot& slot = slots_[i];
  return {slot.name.shown, slot.name.lower,
          std::string_view(buffer_).substr(slot.begin, slot.end - slot.begin)};
}

void AnswerHeaders::append_to(std::string& out) const {
  out += buffer_;
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

std::string_view refusal_code(const Decision& decision) {
  if (decision.reason == Reason::kLimiterUnavailable) return "LIMITER_UNAVAILABLE";
  return decision.reason == Reason::kBlocked ? "BLOCKED" : "RATE_LIMITED";
}

void append_exact_seconds(std::string& out, Duration duration) {
  FixedText<32> text;
  add_exact_seconds(text, duration);
  out += text.view();
}

void append_check_json(const Decision& decision, std::string_view id, std::string& out) {
  const LimitDecision* const named = decision.named_limit();
  VerdictText named_verdict;
  if (!decision.allowed && named == nullptr) {
    append_wait_alone(named_verdict, decision);
  } else {
    append_verdict(named_verdict, named);
  }
  Piece head;
  head += "{\"allowed\":";
  head += decision.allowed ? "true" : "false";
  head += ",\"limit\":";
  append_json_name(head, named);
  head += named_verdict.view();
  head += ",\"delay\":";
  add_exact_seconds(head, decision.delay);
  append_origin(head, decision.source, decision.reason);
  head += ",\"id\":\"";
  out += head.view();
  out += id;
  out += "\",\"limits\":[";
  for (const LimitDecision& one : decision.limits) {
    Piece piece;
    if (&one != &decision.limits.front()) piece += ',';
    VerdictText verdict;
    if (&one != named) append_verdict(verdict, &one);
    append_limit_json(piece, one, &one == named ? named_verdict.view() : verdict.view());
    out += piece.view();
  }
  out += "]}";
}

}  // namespace weir::engine
