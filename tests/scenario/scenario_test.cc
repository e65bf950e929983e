#include "scenario/scenario.h"

#include <gtest/gtest.h>

#include "scenario/units.h"

namespace weir::scenario {
namespace {

TEST(ScenarioUnits, ReadRatesAsPoliciesWriteThem) {
  using std::chrono::seconds;
  EXPECT_EQ(parse_rate("10/60s"), (Rate{10, seconds(60)}));
  EXPECT_EQ(parse_rate("5/s"), (Rate{5, seconds(1)}));
  EXPECT_EQ(parse_rate("0.05/s"), (Rate{5, seconds(100)}));
  EXPECT_EQ(parse_rate("1/3s"), (Rate{1, seconds(3)}));
  EXPECT_EQ(parse_rate("ten/s"), std::nullopt);
}

TEST(ScenarioUnits, ReadSecondsToTheNanosecond) {
  EXPECT_EQ(parse_seconds("19.999999999"), Duration(19'999'999'999));
  EXPECT_EQ(parse_seconds("+0.25"), Duration(250'000'000));
  EXPECT_EQ(parse_seconds("-3600"), -std::chrono::hours(1));
  EXPECT_EQ(parse_seconds("0.1234567891"), std::nullopt);
}

TEST(ScenarioUnits, ReadAnInstantOfTheCalendar) {
  EXPECT_EQ(parse_instant("1970-01-02T00:00:01Z"), 86'401'000'000'000);
  EXPECT_EQ(parse_instant("1970-01-02"), std::nullopt);
}

TEST(Scenario, ReadsEveryKindOfLine) {
  const auto scenario = parse(
      "start 1970-01-01T00:00:10Z\n"
      "limit a token_bucket rate=1/s burst=2   # the burst\n"
      "limit b fixed_window limit=3 window=day timezone=Asia/Shanghai shadow\n"
      "\n"
      "0 k 1 -> deny left 0 retry 1.5 by a\n"
      "1 a=x,b=y 2 x10 -> 3 allowed\n"
      "1 k 1 every 0.5 -> AA DN\n"
      "2 refund k 1 charged 0\n"
      "2 reset k\n"
      "2 limit a token_bucket rate=1/s burst=2 and rate=3/h burst=4\n"
      "2 wall -3600\n");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->start, at_ns(10'000'000'000));
  ASSERT_EQ(scenario->limits.size(), 2u);
  EXPECT_TRUE(scenario->limits[1].shadow);
  ASSERT_EQ(scenario->steps.size(), 7u);
  const auto& take = std::get<Take>(scenario->steps[0].action);
  EXPECT_EQ(take.expected.retry, Duration(1'500'000'000));
  EXPECT_EQ(take.expected.by, "a");
  EXPECT_EQ(std::get<TakeMany>(scenario->steps[1].action).keys.of("b"), "y");
  EXPECT_EQ(std::get<TakeMany>(scenario->steps[1].action).keys.of("c"), std::nullopt);
  EXPECT_EQ(std::get<Limit>(scenario->steps[5].action).more,
            std::vector<Numbers>{(TokenBucket{{3, std::chrono::hours(1)}, 4})});
  EXPECT_EQ(std::get<TakeEvery>(scenario->steps[2].action).outcomes, "AADN");
}

TEST(Scenario, NamesTheLineThatIsWrong) {
  const auto scenario = parse("limit a token_bucket rate=1/s burst=2\n\n0 k one -> allow\n");
  ASSERT_FALSE(scenario.has_value());
  EXPECT_EQ(scenario.error().message, "line 3: cost 'one' is not one");
}

}  // namespace
}  // namespace weir::scenario
