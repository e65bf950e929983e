#include "limit/calendar.h"

#include <date/date.h>
#include <date/tz.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "limit/window.h"

namespace weir::limit {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

std::int64_t to_ns(date::sys_seconds t) {
  return nanoseconds(t.time_since_epoch()).count();
}

date::sys_seconds to_seconds(std::int64_t ns) {
  return date::floor<seconds>(date::sys_time<nanoseconds>(nanoseconds(ns)));
}

// The first day of the unit that holds `day`, and of the one after it.
struct Days {
  date::local_days first;
  date::local_days next;
};

Days days_around(CalendarUnit unit, date::local_days day) {
  const date::year_month_day ymd(day);
  switch (unit) {
    case CalendarUnit::kWeek: {
      const date::local_days monday = day - (date::weekday(day) - date::Monday);
      return Days{monday, monday + date::days(7)};
    }
    case CalendarUnit::kMonth: {
      const date::year_month month = ymd.year() / ymd.month();
      return Days{date::local_days(month / 1), date::local_days((month + date::months(1)) / 1)};
    }
    case CalendarUnit::kYear:
      return Days{date::local_days(ymd.year() / 1 / 1),
                  date::local_days((ymd.year() + date::years(1)) / 1 / 1)};
    default:
      return Days{day, day + date::days(1)};
  }
}

date::sys_seconds start_of(const date::time_zone& zone, date::local_days day) {
  return zone.to_sys(date::local_seconds(day), date::choose::earliest);
}

CalendarWindows::Span clock_window(const date::time_zone& zone, seconds length,
                                   date::sys_seconds now) {
  const date::sys_info info = zone.get_info(now);
  const std::int64_t local = (now.time_since_epoch() + info.offset).count();
  const date::sys_seconds start = now - seconds(local - epoch_start(local, length.count()));
  return CalendarWindows::Span{to_ns(std::max(start, info.begin)),
                               to_ns(std::min(start + length, info.end))};
}

CalendarWindows::Span date_window(const date::time_zone& zone, CalendarUnit unit,
                                  date::sys_seconds now) {
  const date::sys_info info = zone.get_info(now);
  const date::local_seconds local(now.time_since_epoch() + info.offset);
  Days days = days_around(unit, date::floor<date::days>(local));
  // Where clocks go back across midnight, the old date comes once more after the new one began.
  if (start_of(zone, days.next) <= now) days = days_around(unit, days.next);
  return CalendarWindows::Span{to_ns(start_of(zone, days.first)), to_ns(start_of(zone, days.next))};
}

}  // namespace

Result<CalendarWindows> CalendarWindows::make(const Calendar& calendar) {
  try {
    const date::time_zone* zone = date::locate_zone(calendar.timezone);
    const CalendarWindows windows(calendar.unit, zone);
    windows.holding(0);  // reads the zone's file now, so that no decision has to
    return windows;
  } catch (const std::exception&) {
    return Error{ErrorCode::kInvalid, "unknown timezone '" + calendar.timezone +
                                          "'; use a name of the system's tzdata such as UTC or "
                                          "Asia/Shanghai"};
  }
}

CalendarWindows::Span CalendarWindows::holding(std::int64_t now) const {
  const date::sys_seconds t = to_seconds(now);
  switch (unit_) {
    case CalendarUnit::kMinute:
      return clock_window(*zone_, std::chrono::minutes(1), t);
    case CalendarUnit::kHour:
      return clock_window(*zone_, std::chrono::hours(1), t);
    default:
      return date_window(*zone_, unit_, t);
  }
}

}  // namespace weir::limit
