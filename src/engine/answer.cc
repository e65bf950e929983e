#include "engine/answer.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/seconds.h"
#include "base/text_cursor.h"
#include "base/wide.h"
#include "engine/compiled_policy.h"
#include "engine/local_share.h"
#include "engine/rate_limit_item.h"
#include "engine/shown_numbers.h"
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

using Family = policy::HeaderFamily;

constexpr unsigned bit(Family family) {
  return 1u << static_cast<unsigned>(family);
}

const policy::Response& response_of(const Decision& decision) {
  return decision.policy->policy().response;
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
TextCursor write_state_item(TextCursor out, const Decision& decision, const LimitDecision& one) {
  const Verdict& verdict = one.verdict;
  out += '"';
  append_name(out, one.name);
  out += '"';
  out += ";r=";
  out.add_number(std::min(verdict.remaining, kMaxItemInteger));
  if (has_wait(verdict)) {
    out += ";t=";
    out.add_number(std::min(wait_seconds(decision, verdict.retry_after), kMaxItemInteger));
    return out;
  }
  const bool grows = verdict.remaining < verdict.quota && verdict.next_after > Duration{0} &&
                     verdict.next_after < Duration(limit::kMaxSpanNs);
  if (grows) {
    out += ";t=";
    out.add_number(ceil_seconds(verdict.next_after));  // a span has no more digits than an item
  }
  return out;
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

// Room for every line. Lists are the long ones: of items (an ItemText each) and of names.
struct AnswerHeaders::Room {
  // Of a line that is no list, and of a list without its items.
  static constexpr std::size_t kMaxLine = 64;
  static constexpr std::size_t kMaxItem = ItemText::kBytes + 2;
  std::array<char, kMaxLines * kMaxLine + 3 * kMaxItems * kMaxItem + TextCursor::kRoomBehind> text;
};

// Where nobody asks for lines one by one.
struct AnswerHeaders::NoSlots {
  void open(const Name& /*name*/, const char* /*at*/) {}
  void close(const char* /*at*/) {}
};

struct AnswerHeaders::KeptSlots {
  void open(const Name& name, const char* at) {
    WEIR_CHECK(size < kMaxLines, "every line of an answer has its slot");
    slots[size] = {&name, static_cast<std::uint32_t>(at - text), 0};
  }
  void close(const char* at) { slots[size++].end = static_cast<std::uint32_t>(at - text); }

  const char* text;
  std::array<Slot, kMaxLines>& slots;
  std::size_t size = 0;
};

// Puts all lines together before they go where they are wanted. WHY a template: then its members
// live in registers. WHY names as template arguments: then their text is a few moves, and no call
// of memcpy.
template <typename Slots>
class AnswerHeaders::Builder {
 public:
  Builder(const Decision& decision, Room& room, Slots& slots)
      : decision_(decision), slots_(slots), begin_(room.text.data()), text_(begin_) {}

  // Every line, in the room.
  std::string_view write() {
    const policy::Response& response = response_of(decision_);
    unsigned sends = 0;  // WHY not policy::Response::sends(): one pass for all
    for (const Family family : response.headers) sends |= bit(family);
    if ((sends & bit(Family::kXRateLimit)) != 0) add_x_ratelimit();
    if ((sends & bit(Family::kRateLimit)) != 0) add_ratelimit();
    if ((sends & bit(Family::kRetryAfter)) != 0) add_retry_after();
    if (response.shadow_header) add_shadow();
    return text_.since(begin_);
  }

 private:
  template <const Name& name>
  void open() {
    text_ += name.shown;
    text_ += ": ";
    slots_.open(name, text_.at());
  }
  void close() {
    slots_.close(text_.at());
    text_ += "\r\n";
  }
  template <const Name& name>
  void add_number(std::uint64_t value) {
    open<name>();
    text_.add_number(value);
    close();
  }

  void add_x_ratelimit() {
    const auto numbers = named_numbers(decision_);
    if (!numbers) return;
    add_number<kLimitName>(numbers->quota);
    add_number<kRemainingName>(numbers->remaining);
    if (numbers->reset) add_number<kResetName>(*numbers->reset);
  }

  void add_ratelimit() {
    if (std::none_of(decision_.limits.begin(), decision_.limits.end(), is_listed)) return;
    open<kPolicyName>();
    visit_listed(decision_, [this](const LimitDecision& one, bool first) {
      if (!first) text_ += ", ";
      add_policy_item(one);
    });
    close();
    open<kRateLimitName>();
    visit_listed(decision_, [this](const LimitDecision& one, bool first) {
      if (!first) text_ += ", ";
      text_ = write_state_item(text_, decision_, one);
    });
    close();
  }

  // An instance that decides by its own share tells that, beside what is left of it.
  void add_policy_item(const LimitDecision& one) {
    std::string_view item = one.policy_item;
    std::string of_share;
    if (one.source == Source::kLocal) [[unlikely]] {
      append_policy_item(of_share, one.name, share_of(*one.numbers, decision_.instances),
                         one.verdict.quota);
      item = of_share;
    }
    WEIR_CHECK(item.size() <= ItemText::kBytes, "items are put together in that room");
    text_ += item;
  }

  void add_retry_after() {
    if (const auto seconds = retry_after_seconds(decision_)) add_number<kRetryName>(*seconds);
  }

  // The shadow limits that would have refused.
  void add_shadow() {
    std::size_t shown = 0;
    for (const LimitDecision& one : decision_.limits) {
      if (!one.shadow || one.verdict.allowed() || shown == kMaxItems) continue;
      if (shown++ == 0) {
        open<kShadowName>();
      } else {
        text_ += ", ";
      }
      append_name(text_, one.name);
    }
    if (shown > 0) close();
  }

  const Decision& decision_;
  Slots& slots_;
  char* const begin_;
  TextCursor text_;
};

void AnswerHeaders::fill(const Decision& decision) {
  Room room;
  KeptSlots slots{room.text.data(), slots_};
  buffer_ = Builder<KeptSlots>(decision, room, slots).write();
  size_ = slots.size;
}

void AnswerHeaders::append(const Decision& decision, std::string& out) {
  Room room;
  NoSlots slots;
  out += Builder<NoSlots>(decision, room, slots).write();
}

AnswerHeaders::Line AnswerHeaders::operator[](std::size_t i) const {
  const Slot& slot = slots_[i];
  return {slot.name->shown, slot.name->lower,
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

}  // namespace weir::engine
