// Every form of a scalar in one table each: text, and what it is, as the last column.

#include "policy/scalar.h"

#include <gtest/gtest.h>

#include "policy/format.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

// The value as text, or "offset: message".
template <typename T, typename Print>
std::string outcome(const Parsed<T>& parsed, Print print) {
  if (const auto* error = std::get_if<ScalarError>(&parsed)) {
    return std::to_string(error->offset) + ": " + error->message;
  }
  return print(std::get<T>(parsed));
}

TEST(Count, IsReadInPlainDigitsAndNothingElse) {
  const struct {
    const char* text;
    const char* right;
  } rows[] = {
      {"0", "0"},
      {"1", "1"},
      {"010", "10"},
      {"000", "0"},
      {"4294967296", "4294967296"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808",
       "0: is '9223372036854775808', is above the largest number, "
       "9223372036854775807"},
      {"99999999999999999999",
       "0: is '99999999999999999999', is above the largest number, "
       "9223372036854775807"},
      {"", "0: is empty, wants a whole number such as 100"},
      {"abc", "0: is 'abc', wants a whole number in plain digits"},
      {"NaN", "0: is 'NaN', wants a whole number in plain digits"},
      {".inf", "0: is '.inf', wants a whole number in plain digits"},
      {"-1", "0: is '-1', wants a whole number in plain digits"},
      {"+1", "0: is '+1', wants a whole number in plain digits"},
      {"1.5", "1: is '1.5', wants a whole number in plain digits"},
      {"1.0", "1: is '1.0', wants a whole number in plain digits"},
      {"1e3", "1: is '1e3', wants a whole number in plain digits"},
      {"0x10", "1: is '0x10', wants a whole number in plain digits"},
      {"0o10", "1: is '0o10', wants a whole number in plain digits"},
      {"1_000", "1: is '1_000', wants a whole number in plain digits"},
      {" 5 ", "0: is ' 5 ', wants a whole number in plain digits"},
      {"5 ", "1: is '5 ', wants a whole number in plain digits"},
      {"\xD9\xA3", "0: is '\xD9\xA3', wants a whole number in plain digits"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome(parse_count(row.text), [](auto n) { return std::to_string(n); }), row.right)
        << row.text;
  }
}

TEST(Duration, IsExactInEveryUnitAndCompound) {
  const struct {
    const char* text;
    Duration right;
  } rows[] = {
      {"0", 0s},
      {"60", 60s},
      {"1us", 1us},
      {"20ms", 20ms},
      {"1s", 1s},
      {"1m", 60s},
      {"1h", 3600s},
      {"1d", 86400s},
      {"1w", 604800s},
      {"1h30m", 5400s},
      {"1d12h", 36h},
      {"1m0.5s", 60500ms},
      {"1.5s", 1500ms},
      {"0.25", 250ms},
      {"0.001us", 1ns},
      {"1w2d3h4m5s6ms7us", 788645006007us},
      {"36525d", kLongestDuration},
      {"0.1s", 100ms},
      {"010s", 10s},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_duration(row.text);
    ASSERT_TRUE(std::holds_alternative<Duration>(parsed)) << row.text;
    EXPECT_EQ(std::get<Duration>(parsed), row.right) << row.text;
  }
}

TEST(Duration, SaysWhatIsWrongAndWhere) {
  const std::string wants = ", wants a duration such as 250ms, 60s or 1h30m";
  const struct {
    const char* text;
    std::string right;
  } rows[] = {
      {"", "0: is empty" + wants},
      {"abc", "0: is 'abc'" + wants},
      {"-1s", "0: is '-1s'" + wants},
      {"1.s", "1: is '1.s'" + wants},
      {".5s", "0: is '.5s'" + wants},
      {"1h 30m", "2: is '1h 30m'" + wants},
      {"1h30", "4: is '1h30'" + wants},
      {"1e3", "1: 'e' is not a unit of a duration, use us, ms, s, m, h, d or w"},
      {"5min", "1: 'min' is not a unit of a duration, use us, ms, s, m, h, d or w"},
      {"1ns", "1: 'ns' is not a unit of a duration, use us, ms, s, m, h, d or w"},
      {"1S", "1: 'S' is not a unit of a duration, use us, ms, s, m, h, d or w"},
      {"30m1h", "3: is '30m1h', wants each unit once, from long to short: 1h30m"},
      {"1h1h", "2: is '1h1h', wants each unit once, from long to short: 1h30m"},
      {"0.0001us", "0: is '0.0001us', is finer than 1 ns"},
      {"36525d1s", "0: is '36525d1s', is above 100 years, the longest duration"},
      {"9999999999999999999s",
       "0: is '9999999999999999999s', has too many digits, wants at most 18"},
      {".inf", "0: is '.inf'" + wants},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome(parse_duration(row.text), format_duration), row.right) << row.text;
  }
}

struct RateRow {
  const char* text;
  std::uint64_t count;
  Duration period;
  std::uint64_t amount;
};

TEST(Rate, IsAReducedFractionAndKeepsItsAmount) {
  const RateRow rows[] = {
      {"10/s", 1, 100ms, 10},
      {"10", 1, 100ms, 10},
      {"0.2/s", 1, 5s, 1},
      {"0.1", 1, 10s, 1},
      {"10/60s", 1, 6s, 10},
      {"1/3s", 1, 3s, 1},
      {"3/s", 3, 1s, 3},
      {"100/min", 1, 600ms, 100},
      {"5/h", 1, 720s, 5},
      {"1/day", 1, 24h, 1},
      {"1/week", 1, 168h, 1},
      {"1/month", 1, 720h, 1},
      {"2/month", 1, 360h, 2},
      {"1.5/s", 3, 2s, 2},
      {"0.333/s", 333, 1000s, 1},
      {"1000000000/s", 1, 1ns, 1000000000},
      {"1500000000/s", 3, 2ns, 1500000000},
      {"999999937/s", 999999937, 1s, 999999937},
      {"10/100ms", 1, 10ms, 10},
      {"1/2w", 1, 336h, 1},
      {"1/0.5s", 1, 500ms, 1},
      {"10 per 1h30m", 1, 540s, 10},
      {"0.5 per 5m", 1, 600s, 1},
      {"10 per 60", 1, 6s, 10},
      {"0/s", 0, 1s, 0},
      {"0", 0, 1s, 0},
      {"0.0/min", 0, 1s, 0},
      {"010/s", 1, 100ms, 10},
  };
  for (const RateRow& row : rows) {
    const auto parsed = parse_rate(row.text);
    ASSERT_TRUE(std::holds_alternative<RateText>(parsed))
        << row.text << " " << std::get<ScalarError>(parsed).message;
    const RateText right{Rate{row.count, row.period}, row.amount};
    const RateText& rate = std::get<RateText>(parsed);
    EXPECT_EQ(rate, right) << row.text << " gives " << rate.rate.count << " per "
                           << rate.rate.period.count() << "ns";
  }
}

TEST(Rate, SaysWhatIsWrongAndWhere) {
  const std::string wants = ", wants a rate such as 10/s, 0.2/s, 100/60s or 10 per 1h30m";
  const std::string units = " is not a unit of a rate, use s, min, h, day, week or month";
  const struct {
    const char* text;
    std::string right;
  } rows[] = {
      {"", "0: is empty" + wants},
      {"fast", "0: is 'fast'" + wants},
      {"10/fortnight", "3: 'fortnight'" + units},
      {"10/Minute", "3: 'Minute'" + units},
      {"10/minutes", "3: 'minutes'" + units},
      {"10/m", "3: 'm' could be a minute or a month, write min or month"},
      {"10/5m", "4: 'm' could be a minute or a month, write min or month"},
      {"10/", "3: is '10/'" + wants},
      {"10/60", "5: is '10/60'" + wants},
      {"10/0s", "3: is '10/0s', has a period of 0, must be more than 0"},
      {"10 per 0s", "7: is '10 per 0s', has a period of 0, must be more than 0"},
      {"10 per", "2: is '10 per'" + wants},
      {"10 per minute", "7: is 'minute', wants a duration such as 250ms, 60s or 1h30m"},
      {"10 a minute", "2: is '10 a minute'" + wants},
      {"10s", "2: is '10s'" + wants},
      {"-1/s", "0: is '-1/s'" + wants},
      {"1e3/s", "1: is '1e3/s'" + wants},
      {"0x10/s", "1: is '0x10/s'" + wants},
      {"1_000/s", "1: is '1_000/s'" + wants},
      {"NaN", "0: is 'NaN'" + wants},
      {".inf", "0: is '.inf'" + wants},
      {"1.2.3/s", "3: is '1.2.3/s'" + wants},
      {"0.000000000000000001/s",
       "0: is '0.000000000000000001/s', is slower than one call in 100 years, use 0 for never"},
      {"9999999999999999999/s",
       "0: is '9999999999999999999/s', has too many digits, wants at most 18"},
      {"1/99999999999d", "2: is '1/99999999999d', has a period above 100 years"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome(parse_rate(row.text), [](const RateText& r) { return format_rate(r.rate); }),
              row.right)
        << row.text;
  }
}

TEST(Size, IsReadInBothKindsOfUnits) {
  const struct {
    const char* text;
    const char* right;
  } rows[] = {
      {"4096", "4096"},
      {"1B", "1"},
      {"64KiB", "65536"},
      {"1MiB", "1048576"},
      {"2GiB", "2147483648"},
      {"1kB", "1000"},
      {"1MB", "1000000"},
      {"1GB", "1000000000"},
      {"1KB", "1: 'KB' is not a unit of a size, use B, KiB, MiB, GiB, kB, MB or GB"},
      {"1M", "1: 'M' is not a unit of a size, use B, KiB, MiB, GiB, kB, MB or GB"},
      {"1.5MiB", "0: is '1.5MiB', wants a whole number of its unit"},
      {"-1", "0: is '-1', wants a size such as 64KiB or 1MiB"},
      {"big", "0: is 'big', wants a size such as 64KiB or 1MiB"},
      {"99999999999GiB", "0: is '99999999999GiB', is above the largest size"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome(parse_size(row.text), [](auto n) { return std::to_string(n); }), row.right)
        << row.text;
  }
}

TEST(Format, PrintsRatesInTheSmallestUnitThatGivesAWholeNumber) {
  const struct {
    Rate rate;
    const char* right;
  } rows[] = {
      {{10, 1s}, "10/s"},         {{1, 5s}, "12/min"},   {{1, 3s}, "20/min"},
      {{1, 6s}, "10/min"},        {{1, 24h}, "1/day"},   {{0, 1s}, "0/s"},
      {{3, 2ns}, "1500000000/s"}, {{1, 7s}, "1 per 7s"}, {{1, 1h}, "1/h"},
      {{1, 720h}, "1/month"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_rate(row.rate), row.right);
}

TEST(Format, PrintsDurationsThatReadBackAsTheSame) {
  const Duration rows[] = {0s,  1ns,   999ns, 1500ns,         1us,      20ms,
                           60s, 5400s, 36h,   788645006007us, 1h + 1ns, 7ms + 1001ns};
  for (const Duration duration : rows) {
    const std::string text = format_duration(duration);
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(std::holds_alternative<Duration>(parsed)) << text;
    EXPECT_EQ(std::get<Duration>(parsed), duration) << text;
  }
}

}  // namespace
}  // namespace weir::policy
