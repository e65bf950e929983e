#include "wire/http_date.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weir {
namespace {

constexpr std::int64_t kNow = 1'767'225'600;  // 2026-01-01T00:00:00Z
constexpr std::int64_t kThen = 784'111'777;   // 1994-11-06T08:49:37Z

TEST(HttpDate, IsReadInAllThreeForms) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT", kNow), kThen);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", kNow), kThen);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994", kNow), kThen);
  EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994", kNow), kThen + 10 * 86'400);
  EXPECT_EQ(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT", kNow), 0);
}

TEST(HttpDate, OfTwoDigitsOfAYearIsAtMostFiftyYearsAhead) {
  EXPECT_EQ(parse_http_date("Thursday, 01-Jan-26 00:00:00 GMT", kNow), kNow);
  const auto ahead = parse_http_date("Wednesday, 01-Jan-76 00:00:00 GMT", kNow);
  EXPECT_EQ(ahead, parse_http_date("Wed, 01 Jan 2076 00:00:00 GMT", kNow));
  const auto behind = parse_http_date("Friday, 31-Dec-76 00:00:00 GMT", kNow);
  EXPECT_EQ(behind, parse_http_date("Fri, 31 Dec 1976 00:00:00 GMT", kNow));
  const std::int64_t in_2080 = *parse_http_date("Mon, 01 Jan 2080 00:00:00 GMT", kNow);
  EXPECT_EQ(parse_http_date("Thursday, 01-Jan-05 00:00:00 GMT", in_2080),
            parse_http_date("Thu, 01 Jan 2105 00:00:00 GMT", kNow));
}

TEST(HttpDate, IsNothingElse) {
  for (const std::string_view text : {"",
                                      ",",
                                      ", ",
                                      "now",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 CET",
                                      "Sun, 6 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 nov 1994 08:49:37 GMT",
                                      "Sun, 06 Now 1994 08:49:37 GMT",
                                      "Sun, 31 Nov 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 24:00:00 GMT",
                                      "Sun, 06 Nov 1994 08:60:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:61 GMT",
                                      "Sun, +6 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08 49 37 GMT",
                                      "Sunday, 06-Nov-1994 08:49:37 GMT",
                                      "Sunday, 32-Nov-94 08:49:37 GMT",
                                      "Sun Nov 06 08:49:37 94",
                                      "Sun Nov 31 08:49:37 1994",
                                      "Sun Nov    08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text, kNow), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weir
