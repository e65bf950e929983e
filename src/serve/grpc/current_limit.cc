#include "serve/grpc/current_limit.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

namespace weir::grpc {
namespace {

using rls::CurrentLimit;
using rls::Unit;
using Wide = unsigned __int128;

constexpr Unit kSmallestFirst[] = {Unit::kSecond, Unit::kMinute, Unit::kHour, Unit::kDay,
                                   Unit::kWeek,   Unit::kMonth,  Unit::kYear};

std::uint32_t narrow(Wide count) {
  return static_cast<std::uint32_t>(
      std::min<Wide>(count, std::numeric_limits<std::uint32_t>::max()));
}

CurrentLimit per_unit(const Rate& rate) {
  const auto period = static_cast<std::uint64_t>(rate.period.count());
  const auto count_in = [&](Unit unit) {
    return Wide{rate.count} * static_cast<std::uint64_t>(length_of(unit).count());
  };
  for (const Unit unit : kSmallestFirst) {
    if (count_in(unit) % period == 0) return {narrow(count_in(unit) / period), unit, {}};
  }
  return {narrow(count_in(Unit::kYear) / period), Unit::kYear, {}};
}

CurrentLimit per_window(std::uint64_t limit, Duration window) {
  for (const Unit unit : kSmallestFirst) {
    if (length_of(unit) == window) return {narrow(limit), unit, {}};
  }
  return per_unit(Rate{limit, window});
}

Unit unit_of(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kMinute:
      return Unit::kMinute;
    case CalendarUnit::kHour:
      return Unit::kHour;
    case CalendarUnit::kDay:
      return Unit::kDay;
    case CalendarUnit::kWeek:
      return Unit::kWeek;
    case CalendarUnit::kMonth:
      return Unit::kMonth;
    case CalendarUnit::kYear:
      return Unit::kYear;
  }
  return Unit::kUnknown;
}

struct Describe {
  CurrentLimit operator()(const TokenBucket& n) const { return per_unit(n.rate); }
  CurrentLimit operator()(const LeakyBucket& n) const { return per_unit(n.rate); }
  CurrentLimit operator()(const FixedWindow& n) const {
    if (const auto* span = std::get_if<Duration>(&n.window)) return per_window(n.limit, *span);
    return {narrow(n.limit), unit_of(std::get<Calendar>(n.window).unit), {}};
  }
  CurrentLimit operator()(const SlidingLog& n) const { return per_window(n.limit, n.window); }
  CurrentLimit operator()(const SlidingCounter& n) const { return per_window(n.limit, n.window); }
  CurrentLimit operator()(const Concurrency& n) const {
    return {narrow(n.limit), Unit::kUnknown, {}};
  }
  CurrentLimit operator()(const Unlimited&) const { return {}; }
};

}  // namespace

Duration length_of(rls::Unit unit) {
  using std::chrono::hours;
  switch (unit) {
    case Unit::kUnknown:
      return Duration{0};
    case Unit::kSecond:
      return std::chrono::seconds(1);
    case Unit::kMinute:
      return std::chrono::minutes(1);
    case Unit::kHour:
      return hours(1);
    case Unit::kDay:
      return hours(24);
    case Unit::kWeek:
      return hours(24 * 7);
    case Unit::kMonth:
      return hours(24 * 30);
    case Unit::kYear:
      return hours(24 * 365);
  }
  return Duration{0};
}

rls::CurrentLimit current_limit(const Numbers& numbers, std::string_view name) {
  CurrentLimit limit = std::visit(Describe{}, numbers);
  limit.name = name;
  return limit;
}

}  // namespace weir::grpc
