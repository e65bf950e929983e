#include "engine/rate_limit_item.h"

#include "base/seconds.h"
#include "base/wide.h"

namespace weir::engine {
namespace {

std::uint64_t clamped(Wide value) {
  return value > kMaxItemInteger ? kMaxItemInteger : static_cast<std::uint64_t>(value);
}

struct Shown {
  std::uint64_t quota = 0;
  std::uint64_t window_s = 0;  // 0: none is shown
};

// `amount` tokens that come back at `rate`: as they are with the time from empty to full; where
// that is under a second, as what comes back in one.
Shown show_rate(const Rate& rate, std::uint64_t amount) {
  if (rate.count == 0 || amount == 0) return {amount, 0};
  const auto period_ns = static_cast<std::uint64_t>(rate.period.count());
  const Wide full_ns_times_count = Wide{amount} * period_ns;
  const Wide second_times_count = Wide{rate.count} * kNsPerSecond;
  if (full_ns_times_count < second_times_count) {
    return {clamped(second_times_count / period_ns), 1};
  }
  return {amount, clamped((full_ns_times_count - 1) / second_times_count + 1)};
}

// The length of a calendar's window, as a rule of thumb: a month has 30 days, a year 365.
std::uint64_t calendar_seconds(CalendarUnit unit) {
  constexpr std::uint64_t kDay = 86400;
  switch (unit) {
    case CalendarUnit::kMinute:
      return 60;
    case CalendarUnit::kHour:
      return 3600;
    case CalendarUnit::kDay:
      return kDay;
    case CalendarUnit::kWeek:
      return 7 * kDay;
    case CalendarUnit::kMonth:
      return 30 * kDay;
    case CalendarUnit::kYear:
      return 365 * kDay;
  }
  return 0;
}

std::uint64_t span_seconds(const FixedSpan& span) {
  if (const auto* calendar = std::get_if<Calendar>(&span)) return calendar_seconds(calendar->unit);
  return ceil_seconds(std::get<Duration>(span));
}

struct ShowNumbers {
  std::uint64_t quota;

  Shown operator()(const TokenBucket& bucket) const { return show_rate(bucket.rate, bucket.burst); }
  Shown operator()(const LeakyBucket& bucket) const {
    const Shown shown = show_rate(bucket.rate, quota);
    return {quota, shown.window_s};
  }
  Shown operator()(const FixedWindow& window) const {
    return {window.limit, span_seconds(window.window)};
  }
  Shown operator()(const SlidingLog& log) const { return {log.limit, ceil_seconds(log.window)}; }
  Shown operator()(const SlidingCounter& counter) const {
    return {counter.limit, ceil_seconds(counter.window)};
  }
  Shown operator()(const Concurrency& concurrency) const { return {concurrency.limit, 0}; }
  Shown operator()(const Unlimited&) const { return {quota, 0}; }
};

}  // namespace

void append_policy_item(std::string& out, std::string_view name, const Numbers& numbers,
                        std::uint64_t quota) {
  const Shown shown = std::visit(ShowNumbers{quota}, numbers);
  ItemText item;
  item += '"';
  item += name;
  item += '"';
  append_integer_parameter(item, "q", shown.quota);
  if (algorithm_of(numbers) == Algorithm::kConcurrency) item += ";qu=\"concurrent-requests\"";
  if (shown.window_s > 0) append_integer_parameter(item, "w", shown.window_s);
  out += item.view();
}

}  // namespace weir::engine
