#include "wire/http1/date.h"

#include <array>
#include <chrono>
#include <string_view>

namespace weir::http1 {
namespace {

constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void append_padded(std::string& out, unsigned value, unsigned digits) {
  std::array<char, 4> text;
  for (unsigned i = digits; i-- > 0; value /= 10) text[i] = static_cast<char>('0' + value % 10);
  out.append(text.data(), digits);
}

std::string date_line(std::int64_t unix_seconds) {
  using std::chrono::days;
  const std::chrono::sys_seconds moment{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<days>(moment);
  const std::chrono::year_month_day date(day);
  const auto second = static_cast<unsigned>((moment - day).count());
  std::string line = "Date: ";
  line += kDays[std::chrono::weekday(day).c_encoding()];
  line += ", ";
  append_padded(line, static_cast<unsigned>(date.day()), 2);
  line += ' ';
  line += kMonths[static_cast<unsigned>(date.month()) - 1];
  line += ' ';
  append_padded(line, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  line += ' ';
  append_padded(line, second / 3600, 2);
  line += ':';
  append_padded(line, second / 60 % 60, 2);
  line += ':';
  append_padded(line, second % 60, 2);
  line += " GMT\r\n";
  return line;
}

}  // namespace

void append_date_header(std::string& out, std::int64_t unix_seconds) {
  static thread_local std::int64_t known_second = -1;
  static thread_local std::string known_line;
  if (unix_seconds != known_second) {
    known_line = date_line(unix_seconds);
    known_second = unix_seconds;
  }
  out += known_line;
}

}  // namespace weir::http1
