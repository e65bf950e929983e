#include "store/redis/counter_rule.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "base/seconds.h"
#include "base/wide.h"
#include "wire/resp/writer.h"

namespace weir::store::redis {
namespace {

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;  // below it doubles are whole numbers

constexpr std::string_view kKindNames[] = {"bucket", "counter", "window", "log"};

constexpr std::int64_t ceil_us(Duration d) {
  return (d.count() + kNsPerUs - 1) / kNsPerUs;
}

Duration round_up(Duration d, std::int64_t ns) {
  if (d.count() > limit::kMaxSpanNs / ns) return Duration(limit::kMaxSpanNs);
  return Duration(ceil_us(Duration(d.count() * ns)) * kNsPerUs);
}

Error not_exact(const std::string& what, std::uint64_t value) {
  return Error{ErrorCode::kUnsupported, what + " " + std::to_string(value) +
                                            " is more than redis can count exactly; the largest "
                                            "is 9007199254740991"};
}

std::string tag_of(std::uint64_t burst, std::uint64_t step, std::uint64_t unit) {
  return std::to_string(burst) + '/' + std::to_string(step) + '/' + std::to_string(unit) + '|';
}

template <typename Number>
void append_number(std::string& out, Number value) {
  resp::append_argument(out, static_cast<std::int64_t>(value));
}

void append_text(std::string& out, std::string_view text) {
  resp::append_argument(out, text);
}

void append_nothing(std::string& out, int times) {
  for (int i = 0; i < times; ++i) append_text(out, "");
}

// A whole number up to `end`, which goes with it.
bool take_number(std::string_view& text, char end, std::uint64_t& value) {
  const std::size_t stop = std::min(text.find(end), text.size());
  const auto [last, error] = std::from_chars(text.data(), text.data() + stop, value);
  if (error != std::errc() || last != text.data() + stop) return false;
  text.remove_prefix(std::min(stop + 1, text.size()));
  return true;
}

std::string_view unit_name(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kMinute:
      return "minute";
    case CalendarUnit::kHour:
      return "hour";
    case CalendarUnit::kDay:
      return "day";
    case CalendarUnit::kWeek:
      return "week";
    case CalendarUnit::kMonth:
      return "month";
    case CalendarUnit::kYear:
      return "year";
  }
  return "";
}

// Time zones have '/' in their names, which a kind must not.
std::string without_slashes(std::string text) {
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

// A window in whole microseconds, rounded up.
struct Shape {
  Kind kind = Kind::kWindow;
  std::uint64_t limit = 0;
  std::int64_t length_us = 0;
  Align align = Align::kEpoch;
  const Calendar* calendar = nullptr;
  std::string_view name;
};

Shape shape_of(const Numbers& numbers) {
  if (const auto* fixed = std::get_if<FixedWindow>(&numbers)) {
    if (const auto* calendar = std::get_if<Calendar>(&fixed->window)) {
      return {Kind::kWindow, fixed->limit, 0, Align::kEpoch, calendar, "fw"};
    }
    const std::int64_t length = ceil_us(std::get<Duration>(fixed->window));
    return {Kind::kWindow, fixed->limit, length, fixed->align, nullptr, "fw"};
  }
  if (const auto* counter = std::get_if<SlidingCounter>(&numbers)) {
    return {Kind::kCounter, counter->limit, ceil_us(counter->window),
            counter->align, nullptr,        "sc"};
  }
  if (const auto* log = std::get_if<SlidingLog>(&numbers)) {
    return {Kind::kLog, log->limit, ceil_us(log->window), Align::kEpoch, nullptr, "sl"};
  }
  const auto& calls = std::get<Concurrency>(numbers);
  return {Kind::kLog, calls.limit, ceil_us(calls.timeout), Align::kEpoch, nullptr, "cc"};
}

// The numbers with their window in whole microseconds.
Numbers rounded(Numbers numbers, std::int64_t length_us) {
  const Duration length(length_us * kNsPerUs);
  if (auto* fixed = std::get_if<FixedWindow>(&numbers)) {
    if (std::holds_alternative<Duration>(fixed->window)) fixed->window = length;
  } else if (auto* counter = std::get_if<SlidingCounter>(&numbers)) {
    counter->window = length;
  } else if (auto* log = std::get_if<SlidingLog>(&numbers)) {
    log->window = length;
  } else {
    std::get<Concurrency>(numbers).timeout = length;
  }
  return numbers;
}

}  // namespace

Result<CounterRule> CounterRule::make(const limit::Rule& rule) {
  auto made = make_any(rule.numbers());
  if (made) made->serial_ = rule.serial();
  return made;
}

Result<CounterRule> CounterRule::make_any(const Numbers& numbers) {
  if (const auto* bucket = std::get_if<TokenBucket>(&numbers)) {
    return make_bucket(*bucket, false);
  }
  if (const auto* leaky = std::get_if<LeakyBucket>(&numbers)) {
    return make_bucket({.rate = leaky->rate, .burst = leaky->queue + 1}, true);
  }
  if (std::holds_alternative<Unlimited>(numbers)) {
    return Error{ErrorCode::kInvalid, "unlimited counts nothing"};
  }
  return make_window(numbers);
}

Result<CounterRule> CounterRule::make_bucket(const TokenBucket& numbers, bool leaky) {
  const Rate& rate = numbers.rate;
  const std::uint64_t burst = numbers.burst;
  // One token takes period / (count x 1000) microseconds: step / unit of them, in lowest terms.
  std::uint64_t step = 1;
  Wide unit = 0;
  if (rate.count > 0) {
    const auto period = static_cast<std::uint64_t>(rate.period.count());
    unit = wide_product(rate.count, kNsPerUs);
    const std::uint64_t common = std::gcd(period, static_cast<std::uint64_t>(unit % period));
    step = period / common;
    unit /= common;
    if (unit >= kExact) return not_exact("a rate of that many tokens,", rate.count);
  }
  TokenBucket scaled = numbers;
  scaled.rate = {static_cast<std::uint64_t>(unit), Duration(static_cast<std::int64_t>(step))};
  auto made =
      leaky ? limit::Rule::make(LeakyBucket{scaled.rate, burst - 1}) : limit::Rule::make(scaled);
  if (!made) return made.error();
  CounterRule rule(std::move(*made), Kind::kBucket);
  rule.ns_ = kNsPerUs;
  rule.name_ = leaky ? "lb" : "tb";
  rule.burst_ = burst;
  rule.step_ = step;
  rule.unit_ = static_cast<std::uint64_t>(unit);
  rule.keeps_time_ = numbers.keeps_time;
  rule.frozen_leaky_ = leaky && rate.count == 0;
  rule.tag_ = tag_of(burst, rule.step_, rule.unit_);
  rule.lean_ = rule.unit_ > 0 && wide_product(burst, step) < kExact - 1;
  if (rule.span_of(burst).us >= kExact) return not_exact("burst", burst);
  return rule;
}

Result<CounterRule> CounterRule::make_window(const Numbers& numbers) {
  const Shape shape = shape_of(numbers);
  if (shape.limit >= kExact) return not_exact("limit", shape.limit);
  auto made = limit::Rule::make(rounded(numbers, shape.length_us));
  if (!made) return made.error();
  CounterRule rule(std::move(*made), shape.kind);
  rule.limit_ = shape.limit;
  rule.length_us_ = shape.length_us;
  rule.align_ = shape.align == Align::kFirst ? "first" : "";
  rule.name_ = shape.name;
  rule.concurrency_ = std::holds_alternative<Concurrency>(numbers);
  if (shape.calendar != nullptr) {
    auto windows = limit::CalendarWindows::make(*shape.calendar);
    if (!windows) return windows.error();
    rule.calendar_ = *windows;
    rule.name_ += without_slashes('-' + std::string(unit_name(shape.calendar->unit)) + '-' +
                                  shape.calendar->timezone);
  } else if (!rule.concurrency_) {
    rule.name_ += std::to_string(shape.length_us) + rule.align_;
  }
  return rule;
}

CounterRule::Span CounterRule::span_of(std::uint64_t tokens) const {
  if (unit_ == 0) return Span{tokens, 0};
  const Wide ticks = wide_product(tokens, step_);
  const Wide us = floor_div(ticks, unit_);
  return Span{static_cast<std::uint64_t>(us), static_cast<std::uint64_t>(ticks - us * unit_)};
}

std::uint64_t CounterRule::taken_by(std::uint64_t cost) const {
  if (cost > burst_) return 0;
  return frozen_leaky_ && cost > 0 ? burst_ : cost;
}

void CounterRule::append_bucket(std::string& out, std::uint64_t taken, int sign) const {
  const Span take = span_of(taken);
  const Span capacity = span_of(burst_);
  append_text(out, tag_);
  append_number(out, sign * static_cast<std::int64_t>(take.us));
  append_number(out, sign * static_cast<std::int64_t>(take.rem));
  append_number(out, capacity.us);
  append_number(out, capacity.rem);
  append_number(out, unit_);
}

void CounterRule::append_lean(std::string& out, std::uint64_t cost) const {
  append_bucket(out, taken_by(cost));
}

CounterRule::View CounterRule::lean_view(std::int64_t answer, std::uint64_t cost) const {
  const auto unit = static_cast<std::int64_t>(unit_);
  const std::int64_t ticks =
      answer < 0 ? -(answer + 1) : answer - static_cast<std::int64_t>(taken_by(cost) * step_);
  return View{{ticks / unit, ticks % unit, 0, 0}};
}

// The script converts by what is left, so that what keeps its time instead is left to us.
void CounterRule::append_conversion(std::string& out, const Request& request) const {
  constexpr std::string_view kNoValue = "-";
  append_text(out, keeps_time_ && request.old_value.empty() ? kNoValue : request.old_value);
  append_text(out, request.new_value);
}

void CounterRule::append_charge(std::string& out, const Request& request) const {
  const bool never = request.cost > quota();
  const int flags = (request.shadow ? 1 : 0) + (never ? 2 : 0) + (request.cost == 0 ? 4 : 0) +
                    (request.with_before ? 8 : 0);
  append_text(out, kKindNames[static_cast<std::size_t>(kind_)]);
  append_number(out, flags);
  append_conversion(out, request);
  if (kind_ == Kind::kBucket) return append_bucket(out, taken_by(request.cost));
  append_window(out, never ? 0 : static_cast<std::int64_t>(request.cost), request);
}

void CounterRule::append_correction(std::string& out, const Request& request) const {
  append_text(out, kKindNames[static_cast<std::size_t>(kind_)]);
  if (request.charged_at_us) {
    append_number(out, *request.charged_at_us);
  } else {
    append_text(out, "");
  }
  append_conversion(out, request);
  const bool take = request.change == Change::kTake;
  const bool renew = request.change == Change::kRenew;
  const std::uint64_t cost = renew && !concurrency_ ? 0 : std::min(request.cost, most_owed());
  if (kind_ != Kind::kBucket) {
    return append_window(out, (take ? -1 : 1) * static_cast<std::int64_t>(cost), request);
  }
  append_bucket(out, frozen_leaky_ && cost > 0 ? burst_ : cost, take ? -1 : 1);
}

// The most that a counter can owe, so that more makes no difference: a bucket 100 years of
// refilling, or all of one that never refills.
std::uint64_t CounterRule::most_owed() const {
  if (kind_ != Kind::kBucket) return limit::kMaxCounted;
  if (unit_ == 0) return burst_;
  const Wide ticks = wide_product(static_cast<std::uint64_t>(limit::kMaxSpanNs / kNsPerUs), unit_);
  return static_cast<std::uint64_t>(
      std::min<Wide>(floor_div(ticks, step_), std::numeric_limits<std::uint64_t>::max()));
}

void CounterRule::append_window(std::string& out, std::int64_t cost, const Request& request) const {
  append_number(out, cost);
  append_number(out, limit_);
  append_number(out, length_us_);
  if (kind_ == Kind::kLog) {
    const bool renew = request.change == Change::kRenew;
    append_text(out, renew ? "renew" : concurrency_ ? "oldest" : "newest");
  } else if (calendar_) {
    append_text(out, bounds(request.now_us));
  } else {
    append_text(out, align_);
  }
  append_nothing(out, 2);
}

// The window that holds `now_us`, and the ones before and after it.
std::string CounterRule::bounds(std::int64_t now_us) const {
  const auto now = calendar_->holding(now_us * kNsPerUs);
  const auto before = calendar_->holding(now.start - 1);
  const auto after = calendar_->holding(now.end);
  std::string text;
  for (std::int64_t bound : {before.start, now.start, now.end, after.end}) {
    text += std::to_string(std::max<std::int64_t>(bound / kNsPerUs, 0)) + ' ';
  }
  return text;
}

Verdict CounterRule::decide(const View& view, std::uint64_t cost, std::int64_t now_us) const {
  if (kind_ == Kind::kLog) return decide_log(view, cost, now_us);
  const limit::State state = state_of(view, now_us);
  const Instant now = at_ns(kind_ == Kind::kBucket ? now_us : now_us * kNsPerUs);
  Verdict verdict = rule_.decide(&state, cost, now).verdict;
  for (Duration* each :
       {&verdict.retry_after, &verdict.reset_after, &verdict.delay, &verdict.next_after}) {
    *each = round_up(*each, ns_);
  }
  return verdict;
}

Verdict CounterRule::decide_later(View view, std::uint64_t cost, std::int64_t now_us,
                                  std::int64_t passed_us) const {
  if (kind_ == Kind::kBucket && unit_ > 0) {
    view.at[0] -= passed_us;
    if (view.at[0] < 0) view = View{};
  }
  return decide(view, cost, now_us + passed_us);
}

limit::State CounterRule::state_of(const View& view, std::int64_t now_us) const {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  switch (kind_) {
    case Kind::kBucket:
      if (unit_ == 0) return limit::State{{word(view.at[0]), 0, 0}};
      // What is missing beyond everything is owed: the script has brought a clock's back.
      return limit::State{{word(now_us + view.at[0]), word(view.at[1]), word(view.at[0])}};
    case Kind::kCounter:
      return limit::State{{word(view.at[0] * kNsPerUs), word(view.at[1]), word(view.at[2])}};
    case Kind::kWindow:
    case Kind::kLog:
      break;
  }
  return limit::State{{word(view.at[0] * kNsPerUs), word(view.at[1] * kNsPerUs), word(view.at[2])}};
}

// From a log of a million calls a verdict looks at three at most: those stand for all.
Verdict CounterRule::decide_log(const View& view, std::uint64_t cost, std::int64_t now_us) const {
  const auto [calls, first, must, newest] = view.at;
  const auto used = static_cast<std::uint64_t>(calls);
  std::array<limit::Mark, 3> marks;
  std::size_t count = 0;
  const auto add = [&](std::int64_t at_us, std::uint64_t total) {
    marks[count++] = limit::Mark{at_us * kNsPerUs, total};
  };
  if (used > 0) {
    const std::uint64_t over = used > limit_ ? used - limit_ : 0;
    add(first, std::min(over + 1, used));
    if (cost <= limit_ && used + cost > limit_) {
      const std::uint64_t leave = used + cost - limit_;
      if (leave > over + 1 && leave <= used) add(must, leave);
    }
    if (marks[count - 1].total < used) add(newest, used);
  }
  const limit::LogView log{{marks.data(), count}, 0};
  return rule_.decide(log, cost, at_ns(now_us * kNsPerUs)).verdict;
}

std::optional<std::string> CounterRule::adopt(std::string_view raw, std::int64_t now_us) const {
  if (kind_ != Kind::kBucket) return std::nullopt;
  raw = raw.substr(0, raw.find('-'));  // what was owed is forgotten: limit::Rule::adopt()
  std::uint64_t burst = 0;
  std::uint64_t step = 0;
  std::uint64_t unit = 0;
  limit::State state;
  const bool read = take_number(raw, '/', burst) && take_number(raw, '/', step) &&
                    take_number(raw, '|', unit) && step > 0 && step < kExact && unit < kExact;
  if (!read || !take_number(raw, '+', state.word[0])) return std::nullopt;
  if (!raw.empty() && !take_number(raw, '+', state.word[1])) return std::nullopt;
  if (!raw.empty() || state.word[0] >= kExact || state.word[1] >= kExact) return std::nullopt;
  const Rate rate{unit, Duration(static_cast<std::int64_t>(step))};
  const bool leaky = name_ == "lb";
  if (leaky && burst == 0) return std::nullopt;
  const auto older = leaky ? limit::Rule::make(LeakyBucket{rate, burst - 1})
                           : limit::Rule::make(TokenBucket{rate, burst});
  if (!older) return std::nullopt;
  const auto adopted = rule_.adopt(*older, state, at_ns(now_us));
  return adopted ? encode(*adopted) : std::string();
}

std::string CounterRule::encode(const limit::State& state) const {
  std::string value = tag_ + std::to_string(state.word[0]);
  if (state.word[1] > 0) value += '+' + std::to_string(state.word[1]);
  return value;
}

}  // namespace weir::store::redis
