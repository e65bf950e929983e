#include "wire/http_date.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Whether `text` has digits where `shape` has '0', letters where it has 'a', a digit or a space
// where it has '_', and else the same characters.
bool has_shape(std::string_view text, std::string_view shape) {
  return std::equal(text.begin(), text.end(), shape.begin(), shape.end(), [](char c, char like) {
    const char lower = static_cast<char>(c | 0x20);
    if (like == '0') return is_digit(c);
    if (like == '_') return is_digit(c) || c == ' ';
    if (like == 'a') return lower >= 'a' && lower <= 'z';
    return c == like;
  });
}

// REQUIRES: digits, with spaces before them.
int number(std::string_view digits) {
  int value = 0;
  for (const char c : digits) value = c == ' ' ? value : value * 10 + (c - '0');
  return value;
}

// 0 for what is none.
unsigned month_of(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* const found = std::find(kMonths.begin(), kMonths.end(), name);
  return found == kMonths.end() ? 0 : static_cast<unsigned>(found - kMonths.begin()) + 1;
}

// `time` is "08:49:37".
std::optional<std::int64_t> moment(int year, std::string_view month, std::string_view day,
                                   std::string_view time) {
  const year_month_day date{std::chrono::year(year), std::chrono::month(month_of(month)),
                            std::chrono::day(static_cast<unsigned>(number(day)))};
  const int hour = number(time.substr(0, 2));
  const int minute = number(time.substr(3, 2));
  const int second = number(time.substr(6, 2));
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::int64_t midnight = sys_seconds(std::chrono::sys_days(date)).time_since_epoch().count();
  return midnight + hour * 3600 + minute * 60 + second;
}

// "06-Nov-94 08:49:37 GMT", what follows the weekday.
std::optional<std::int64_t> moment_of_rfc850(std::string_view text, std::int64_t now) {
  const sys_seconds latest{seconds(now) + std::chrono::years(50)};
  const int last = int(year_month_day(std::chrono::floor<days>(latest)).year());
  const int year = last - (last - number(text.substr(7, 2))) % 100;
  const auto in = [&](int some_year) {
    return moment(some_year, text.substr(3, 3), text.substr(0, 2), text.substr(10, 8));
  };
  const auto found = in(year);
  return found && *found > latest.time_since_epoch().count() ? in(year - 100) : found;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) {
  if (has_shape(text, "aaa, 00 aaa 0000 00:00:00 GMT")) {
    return moment(number(text.substr(12, 4)), text.substr(8, 3), text.substr(5, 2),
                  text.substr(17, 8));
  }
  if (has_shape(text, "aaa aaa _0 00:00:00 0000")) {
    return moment(number(text.substr(20, 4)), text.substr(4, 3), text.substr(8, 2),
                  text.substr(11, 8));
  }
  const std::size_t weekday = std::min(text.find(','), text.size());
  if (has_shape(text.substr(weekday), ", 00-aaa-00 00:00:00 GMT")) {
    return moment_of_rfc850(text.substr(weekday + 2), now);
  }
  return std::nullopt;
}

}  // namespace weir
