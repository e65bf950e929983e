// Windows of the calendar by asking the C library what the clocks show, moment by moment.

#include <cstdlib>
#include <ctime>
#include <tuple>

#include "oracle/window_models.h"

namespace weir::oracle {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// What names the window: two moments of one window have the same name.
using Name = std::tuple<int, int, int, int, int, long>;

std::tm local_time(std::time_t t) {
  std::tm shown{};
  localtime_r(&t, &shown);
  return shown;
}

// Monday's date stands for a week: the days since 1970 of it.
int week_of(const std::tm& shown) {
  std::tm noon{};
  noon.tm_year = shown.tm_year;
  noon.tm_mon = shown.tm_mon;
  noon.tm_mday = shown.tm_mday;
  const auto days = static_cast<int>(timegm(&noon) / 86'400);
  return days - (shown.tm_wday + 6) % 7;
}

Name name_of(CalendarUnit unit, std::time_t t) {
  const std::tm s = local_time(t);
  switch (unit) {
    case CalendarUnit::kYear:
      return {s.tm_year, 0, 0, 0, 0, 0};
    case CalendarUnit::kMonth:
      return {s.tm_year, s.tm_mon, 0, 0, 0, 0};
    case CalendarUnit::kWeek:
      return {week_of(s), 0, 0, 0, 0, 0};
    case CalendarUnit::kDay:
      return {s.tm_year, s.tm_mon, s.tm_mday, 0, 0, 0};
    // Hours and minutes do not span a change of the clocks.
    case CalendarUnit::kHour:
      return {s.tm_year, s.tm_mon, s.tm_mday, s.tm_hour, 0, s.tm_gmtoff};
    case CalendarUnit::kMinute:
      return {s.tm_year, s.tm_mon, s.tm_mday, s.tm_hour, s.tm_min, s.tm_gmtoff};
  }
  return {};
}

// How far to look at a time: shorter than the shortest window of the unit.
std::time_t stride(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kMinute:
      return 20;
    case CalendarUnit::kHour:
      return 900;
    case CalendarUnit::kDay:
      return 3 * 3600;
    default:
      return 86'400;
  }
}

// The first second with another name than `t`'s, going by `step`, which is 1 or -1 strides.
std::time_t edge(CalendarUnit unit, std::time_t t, std::time_t step) {
  const Name name = name_of(unit, t);
  std::time_t inside = t;
  std::time_t outside = t + step;
  while (name_of(unit, outside) == name) {
    inside = outside;
    outside += step;
  }
  while (std::abs(outside - inside) > 1) {
    const std::time_t middle = inside + (outside - inside) / 2;
    (name_of(unit, middle) == name ? inside : outside) = middle;
  }
  return step > 0 ? outside : inside;
}

}  // namespace

// THREADS: one: sets the process's time zone.
Window calendar_window(const Calendar& calendar, std::int64_t now) {
  setenv("TZ", (":" + calendar.timezone).c_str(), 1);
  tzset();
  const auto t = static_cast<std::time_t>(floor(Fraction(Integer(now), Integer(kNsPerSecond))));
  const std::time_t step = stride(calendar.unit);
  return Window{edge(calendar.unit, t, -step) * kNsPerSecond,
                edge(calendar.unit, t, step) * kNsPerSecond};
}

}  // namespace weir::oracle
