#include "limit/calendar.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace weir::limit {
namespace {

std::int64_t utc(int year, int month, int day, int hour, int minute) {
  std::tm t{};
  t.tm_year = year - 1900;
  t.tm_mon = month - 1;
  t.tm_mday = day;
  t.tm_hour = hour;
  t.tm_min = minute;
  return timegm(&t) * 1'000'000'000;
}

CalendarWindows::Span window(CalendarUnit unit, const std::string& zone, std::int64_t now) {
  return CalendarWindows::make(Calendar{unit, zone})->holding(now);
}

void expect_window(const CalendarWindows::Span& span, std::int64_t start, std::int64_t end) {
  EXPECT_EQ(span.start, start);
  EXPECT_EQ(span.end, end);
}

TEST(CalendarWindows, AWeekBeginsOnMonday) {
  expect_window(window(CalendarUnit::kWeek, "UTC", utc(2024, 2, 29, 23, 59)),
                utc(2024, 2, 26, 0, 0), utc(2024, 3, 4, 0, 0));
  expect_window(window(CalendarUnit::kWeek, "UTC", utc(2024, 2, 26, 0, 0)), utc(2024, 2, 26, 0, 0),
                utc(2024, 3, 4, 0, 0));
}

TEST(CalendarWindows, AMonthAndAYearAreTheCalendarsOwn) {
  expect_window(window(CalendarUnit::kMonth, "UTC", utc(2024, 2, 29, 12, 0)), utc(2024, 2, 1, 0, 0),
                utc(2024, 3, 1, 0, 0));
  expect_window(window(CalendarUnit::kMonth, "Asia/Shanghai", utc(2024, 12, 31, 16, 0)),
                utc(2024, 12, 31, 16, 0), utc(2025, 1, 31, 16, 0));
  expect_window(window(CalendarUnit::kYear, "UTC", utc(2024, 7, 1, 0, 0)), utc(2024, 1, 1, 0, 0),
                utc(2025, 1, 1, 0, 0));
}

TEST(CalendarWindows, ADayWhoseMidnightIsSkippedBeginsWhenTheClocksGoOn) {
  // Beirut goes from 2021-03-27 23:59:59 (+02) to 2021-03-28 01:00 (+03).
  expect_window(window(CalendarUnit::kDay, "Asia/Beirut", utc(2021, 3, 28, 10, 0)),
                utc(2021, 3, 27, 22, 0), utc(2021, 3, 28, 21, 0));
  expect_window(window(CalendarUnit::kDay, "Asia/Beirut", utc(2021, 3, 27, 21, 59)),
                utc(2021, 3, 26, 22, 0), utc(2021, 3, 27, 22, 0));
}

TEST(CalendarWindows, ADateThatComesOnceMoreAfterMidnightStaysInTheNewDay) {
  // St. John's went back from 2006-10-29 00:01 (-02:30) to 23:01 (-03:30) of the day before.
  const std::int64_t midnight = utc(2006, 10, 29, 2, 30);
  const std::int64_t next_midnight = utc(2006, 10, 30, 3, 30);
  for (const std::int64_t now : {midnight, utc(2006, 10, 29, 2, 31), utc(2006, 10, 29, 3, 29),
                                 utc(2006, 10, 29, 3, 30), next_midnight - 1}) {
    expect_window(window(CalendarUnit::kDay, "America/St_Johns", now), midnight, next_midnight);
  }
  expect_window(window(CalendarUnit::kDay, "America/St_Johns", midnight - 1),
                utc(2006, 10, 28, 2, 30), midnight);
}

TEST(CalendarWindows, ADayThatAZoneLeavesOutIsNoWindow) {
  // Samoa went from 2011-12-29 to 2011-12-31.
  const std::int64_t line_crossed = utc(2011, 12, 30, 10, 0);
  expect_window(window(CalendarUnit::kDay, "Pacific/Apia", line_crossed - 1),
                utc(2011, 12, 29, 10, 0), line_crossed);
  expect_window(window(CalendarUnit::kDay, "Pacific/Apia", line_crossed), line_crossed,
                utc(2011, 12, 31, 10, 0));
}

TEST(CalendarWindows, AnHourIsCutWhereClocksChangeByHalfAnHour) {
  // Lord Howe goes back from 02:00 (+11) to 01:30 (+10:30) at 2026-04-04T15:00Z.
  const std::int64_t change = utc(2026, 4, 4, 15, 0);
  const std::string zone = "Australia/Lord_Howe";
  expect_window(window(CalendarUnit::kHour, zone, change - 1), utc(2026, 4, 4, 14, 0), change);
  expect_window(window(CalendarUnit::kHour, zone, change), change, utc(2026, 4, 4, 15, 30));
  expect_window(window(CalendarUnit::kMinute, zone, change), change, utc(2026, 4, 4, 15, 1));
}

TEST(CalendarWindows, TimesBefore1970HaveWindowsToo) {
  expect_window(window(CalendarUnit::kMinute, "UTC", utc(1969, 12, 31, 23, 59) + 1),
                utc(1969, 12, 31, 23, 59), 0);
  expect_window(window(CalendarUnit::kDay, "UTC", -1), utc(1969, 12, 31, 0, 0), 0);
}

}  // namespace
}  // namespace weir::limit
