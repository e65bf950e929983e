#include "limit/rule.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace weir::limit {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr Instant kStart = at_ns(1'767'225'600'000'000'000);

Rule rule_of(const Numbers& numbers) {
  return *Rule::make(numbers);
}

std::string refusal(const Numbers& numbers) {
  const auto rule = Rule::make(numbers);
  return rule ? "accepted" : rule.error().message;
}

TEST(Rule, RefusesABucketThatTakesMoreThanAHundredYearsToFillAndNamesTheLargest) {
  const Rate hourly{1, hours(1)};
  EXPECT_EQ(refusal(TokenBucket{hourly, 876'600}), "accepted");
  EXPECT_EQ(refusal(TokenBucket{hourly, 4'294'967'295}),
            "burst 4294967295 at 1 per 3600000000000ns takes more than 100 years to refill; the "
            "largest burst at this rate is 876600");
  EXPECT_EQ(refusal(TokenBucket{hourly, kMax}),
            "burst 18446744073709551615 at 1 per 3600000000000ns takes more than 100 years to "
            "refill; the largest burst at this rate is 876600");
}

TEST(Rule, HoldsTheLargestBurstThatAFastRateRefills) {
  const Rate fastest{kMax, Duration(1)};
  const Rule rule = rule_of(TokenBucket{fastest, kMax});
  const Step all = rule.decide(nullptr, kMax, kStart);
  EXPECT_EQ(all.verdict.remaining, 0u);
  EXPECT_EQ(all.verdict.reset_after, Duration(1));
  EXPECT_EQ(rule.decide(&all.next, kMax, kStart).verdict.retry_after, Duration(1));
  EXPECT_TRUE(rule.decide(&all.next, kMax, kStart + Duration(1)).verdict.allowed());
}

TEST(Rule, HoldsALimitOfEveryCountThatSixtyFourBitsCanSay) {
  for (const Numbers& numbers : {Numbers(FixedWindow{kMax, seconds(60)}),
                                 Numbers(SlidingCounter{kMax, hours(24 * 365 * 49)})}) {
    const Rule rule = rule_of(numbers);
    const Step most = rule.decide(nullptr, kMax, kStart);
    EXPECT_TRUE(most.verdict.allowed());
    EXPECT_EQ(most.verdict.remaining, 0u);
    EXPECT_EQ(rule.decide(&most.next, kMax, kStart).verdict.outcome, Outcome::kDenied);
    EXPECT_EQ(rule.decide(&most.next, 1, kStart).verdict.outcome, Outcome::kDenied);
  }
}

TEST(Rule, RefusesPeriodsAndWindowsOfNothingAndBelow) {
  EXPECT_EQ(refusal(TokenBucket{Rate{1, Duration(0)}, 1}),
            "the period of a rate is 0ns, must be more than 0");
  EXPECT_EQ(refusal(FixedWindow{1, Duration(0)}), "a window of 0ns, must be more than 0");
  EXPECT_EQ(refusal(SlidingLog{1, Duration(-1)}), "a window of -1ns, must be more than 0");
  EXPECT_EQ(refusal(Concurrency{1, Duration(0)}), "timeout: a window of 0ns, must be more than 0");
}

TEST(Rule, RefusesWindowsThatAreNotEmptyAgainInAHundredYears) {
  EXPECT_EQ(refusal(FixedWindow{1, Duration(kMaxSpanNs)}), "accepted");
  EXPECT_EQ(refusal(FixedWindow{1, Duration(kMaxSpanNs + 1)}),
            "a window of 3155760000000000001ns takes more than 100 years to be empty again; the "
            "largest is 3155760000000000000ns");
  EXPECT_EQ(refusal(SlidingCounter{1, Duration(kMaxSpanNs / 2)}), "accepted");
  EXPECT_EQ(refusal(SlidingCounter{1, Duration::max()}),
            "a window of 9223372036854775807ns takes more than 100 years to be empty again; the "
            "largest is 1577880000000000000ns");
}

TEST(Rule, RefusesALogOfMoreCallsThanItWouldKeep) {
  EXPECT_EQ(refusal(SlidingLog{kMaxMarks, seconds(1)}), "accepted");
  EXPECT_EQ(refusal(SlidingLog{kMaxMarks + 1, seconds(1)}),
            "limit 1000001 would keep a record of as many calls for each key; the largest is "
            "1000000, above it use sliding_counter");
}

TEST(Rule, RefusesATimeZoneThatTheSystemDoesNotHave) {
  EXPECT_EQ(refusal(FixedWindow{1, Calendar{CalendarUnit::kDay, "Mars/Olympus"}}),
            "unknown timezone 'Mars/Olympus'; use a name of the system's tzdata such as UTC or "
            "Asia/Shanghai");
}

TEST(Rule, RefusesAQueueThatHasNoOneMore) {
  EXPECT_EQ(refusal(LeakyBucket{Rate{1, seconds(1)}, kMax}),
            "queue 18446744073709551615 is too long; the largest is 18446744073709551614");
}

TEST(Rule, AnswersAtTheEndsOfTime) {
  const Instant ends[] = {at_ns(std::numeric_limits<std::int64_t>::min()), at_ns(0),
                          at_ns(std::numeric_limits<std::int64_t>::max())};
  const Numbers all[] = {TokenBucket{Rate{1, hours(1)}, 876'600},
                         LeakyBucket{Rate{1, hours(1)}, 876'599},
                         FixedWindow{3, Duration(kMaxSpanNs)},
                         FixedWindow{3, Calendar{CalendarUnit::kYear, "Asia/Shanghai"}},
                         SlidingCounter{3, Duration(kMaxSpanNs / 2)}};
  for (const Numbers& numbers : all) {
    const Rule rule = rule_of(numbers);
    for (const Instant first : ends) {
      const Step step = rule.decide(nullptr, rule.quota(), first);
      EXPECT_TRUE(step.verdict.allowed());
      for (const Instant later : ends) {
        const Verdict verdict = rule.decide(&step.next, 1, later).verdict;
        EXPECT_GE(verdict.retry_after.count(), 0);
        EXPECT_LE(verdict.retry_after.count(), kMaxSpanNs);
      }
    }
  }
}

TEST(Rule, AStateFromAClockAYearAheadIsBroughtWithinReachAlsoByADenial) {
  const Numbers all[] = {
      TokenBucket{Rate{10, seconds(1)}, 10}, LeakyBucket{Rate{10, seconds(1)}, 9},
      FixedWindow{10, seconds(1)},           FixedWindow{10, seconds(1), Align::kFirst},
      SlidingCounter{10, seconds(1)},        SlidingCounter{10, seconds(1), Align::kFirst}};
  for (const Numbers& numbers : all) {
    const Rule rule = rule_of(numbers);
    const Step ahead = rule.decide(nullptr, 10, kStart + hours(24 * 365));
    const Step denied = rule.decide(&ahead.next, 1, kStart);
    EXPECT_EQ(denied.verdict.outcome, Outcome::kDenied) << "nobody gets a second limit by it";
    EXPECT_LE(denied.verdict.retry_after, seconds(2)) << "nor waits longer than a time to full";
    ASSERT_TRUE(denied.write);
    const Instant then = kStart + denied.verdict.retry_after;
    EXPECT_TRUE(rule.decide(&denied.next, 1, then).verdict.allowed());
  }
}

TEST(Rule, ALogFromAClockAYearAheadIsBroughtWithinReach) {
  const Rule rule = rule_of(SlidingLog{2, seconds(10)});
  const Mark marks[] = {{(kStart + seconds(-5)).steady_ns, 1},
                        {(kStart + hours(24 * 365)).steady_ns, 2}};
  const LogStep step = rule.decide(LogView{marks, 0}, 1, kStart);
  EXPECT_EQ(step.verdict.retry_after, seconds(5));
  EXPECT_EQ(step.verdict.reset_after, seconds(10));
  EXPECT_TRUE(step.clamp);
}

TEST(Rule, NamesItsNumbersByASerialThatCopiesShare) {
  const Rule rule = rule_of(TokenBucket{});
  const Rule copy = rule;
  EXPECT_EQ(copy.serial(), rule.serial());
  EXPECT_NE(rule_of(TokenBucket{}).serial(), rule.serial());
}

TEST(Rule, ConvertsWhatIsLeftWithoutEverRoundingUp) {
  // Between any two of these, one token of the one is no whole number of ticks of the other.
  const Rate rates[] = {
      {3, seconds(1)}, {7, seconds(11)}, {999'999'937, seconds(1)}, {0, seconds(1)}};
  for (const Rate& from : rates) {
    for (const Rate& to : rates) {
      const Rule older = rule_of(TokenBucket{from, 10});
      const Rule newer = rule_of(TokenBucket{to, 10});
      const Step used = older.decide(nullptr, 4, kStart);
      const Instant later = kStart + Duration(1);
      const auto adopted = newer.adopt(older, used.next, later);
      ASSERT_TRUE(adopted.has_value());
      const auto left = older.decide(&used.next, 0, later).verdict.remaining;
      EXPECT_EQ(newer.decide(&*adopted, 0, later).verdict.remaining, left);
      EXPECT_FALSE(newer.decide(&*adopted, left + 1, later).verdict.allowed());
    }
  }
}

TEST(Rule, AFullBucketIsFullUnderTheNewBurstAsAForgottenOneWouldBe) {
  const Rule older = rule_of(TokenBucket{Rate{1, seconds(1)}, 10});
  const Rule newer = rule_of(TokenBucket{Rate{1, seconds(1)}, 20});
  const Step used = older.decide(nullptr, 10, kStart);
  EXPECT_EQ(newer.adopt(older, used.next, kStart + seconds(10)), std::nullopt);
}

TEST(Rule, AnotherAlgorithmOrWindowStartsFresh) {
  const Rule window = rule_of(FixedWindow{10, seconds(60)});
  const Step used = window.decide(nullptr, 10, kStart);
  EXPECT_TRUE(rule_of(FixedWindow{20, seconds(60)}).adopt(window, used.next, kStart).has_value());
  for (const Numbers& numbers :
       {Numbers(FixedWindow{10, seconds(61)}), Numbers(FixedWindow{10, seconds(60), Align::kFirst}),
        Numbers(FixedWindow{10, Calendar{CalendarUnit::kMinute}}),
        Numbers(SlidingCounter{10, seconds(60)}), Numbers(TokenBucket{}), Numbers(Unlimited{})}) {
    EXPECT_EQ(rule_of(numbers).adopt(window, used.next, kStart), std::nullopt);
  }
}

}  // namespace
}  // namespace weir::limit
