#include "base/text_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir {
namespace {

template <typename Write>
std::string written(Write write) {
  char text[128];
  TextCursor to(text);
  write(to);
  return std::string(text, to.at());
}

std::string number(std::uint64_t value) {
  return written([value](TextCursor& to) { to.add_number(value); });
}

std::string seconds(std::int64_t ns) {
  return written([ns](TextCursor& to) { to.add_seconds(Duration(ns)); });
}

// Every number of digits, at both ends and next to them.
std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> values = {0, std::numeric_limits<std::uint64_t>::max()};
  std::uint64_t power = 1;
  for (int digits = 1; digits <= 20; ++digits, power *= 10) {
    for (const std::uint64_t value : {power - 1, power, power + 1, 2 * power, power + power / 3}) {
      values.push_back(value);
    }
  }
  return values;
}

// As a point and nine digits, without zeros at the end.
std::string plainly(std::int64_t ns) {
  std::string text = std::to_string(1'000'000'000 + ns % 1'000'000'000);
  text[0] = '.';
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return std::to_string(ns / 1'000'000'000) + text;
}

TEST(TextCursor, WritesNumbersAsTheStandardLibraryDoes) {
  for (const std::uint64_t value : edges()) EXPECT_EQ(number(value), std::to_string(value));
  for (std::uint64_t value = 0; value < 200'000; ++value) {
    ASSERT_EQ(number(value), std::to_string(value));
    ASSERT_EQ(number(value * 9'973), std::to_string(value * 9'973));
  }
}

TEST(TextCursor, WritesSecondsExactlyAndNoZeroTooMany) {
  EXPECT_EQ(seconds(0), "0");
  EXPECT_EQ(seconds(1), "0.000000001");
  EXPECT_EQ(seconds(9'400'000'000), "9.4");
  EXPECT_EQ(seconds(100'000'000), "0.1");
  EXPECT_EQ(seconds(60'000'000'000), "60");
  EXPECT_EQ(seconds(std::numeric_limits<std::int64_t>::max()), "9223372036.854775807");
  std::int64_t power = 1;
  for (int digits = 1; digits <= 18; ++digits, power *= 10) {
    for (const std::int64_t ns : {power - 1, power, power + 1, 7 * power}) {
      EXPECT_EQ(seconds(ns), plainly(ns));
    }
  }
  for (std::int64_t ns = 1; ns < 3'000'000'000; ns += 9'999'991) {
    ASSERT_EQ(seconds(ns), plainly(ns));
  }
}

TEST(TextCursor, PutsPiecesOneBehindTheOther) {
  const auto text = written([](TextCursor& to) {
    to += "r=";
    to.add_number(7);
    to += ',';
    to.add_seconds(Duration(1'500'000'000));
    to += "";
    to += std::string_view();  // at no place
    to += ';';
  });
  EXPECT_EQ(text, "r=7,1.5;");
}

// Behind the text no more than the promised bytes are touched.
TEST(TextCursor, KeepsToItsRoomBehind) {
  for (const std::uint64_t value : edges()) {
    std::string room(64 + TextCursor::kRoomBehind + 1, '~');
    TextCursor to(room.data());
    to.add_number(value);
    to.add_seconds(Duration(static_cast<std::int64_t>(value >> 1)));
    const auto size = static_cast<std::size_t>(to.at() - room.data());
    EXPECT_EQ(room.substr(size + TextCursor::kRoomBehind),
              std::string(room.size() - size - TextCursor::kRoomBehind, '~'));
  }
}

}  // namespace
}  // namespace weir
