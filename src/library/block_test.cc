// A limiter that is blocked for a while.

#include <gtest/gtest.h>

#include "library/test_limiter.h"

namespace weir {
namespace {

using std::chrono::seconds;

TEST(Limiter, RefusesAllWhileBlockedAndPeeksAllTheSame) {
  Limiter limiter = bucket(10, seconds(1), 10);
  limiter.block(seconds(2), at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(kSecond)).retry_after, seconds(1));
  EXPECT_TRUE(limiter.peek(at_ns(kSecond)).allowed());
  EXPECT_FALSE(limiter.allow(1, at_ns(2 * kSecond - 1)));
  EXPECT_TRUE(limiter.allow(1, at_ns(2 * kSecond)));
  limiter.block(seconds(100), at_ns(2 * kSecond));
  limiter.reset(at_ns(2 * kSecond));
  EXPECT_TRUE(limiter.allow(10, at_ns(2 * kSecond)));
}

TEST(Limiter, TellsWhoeverIsBlockedWhatHoldsAtTheEnd) {
  Limiter limiter = bucket(1, seconds(10), 1);
  ASSERT_TRUE(limiter.allow(1, at_ns(0)));
  limiter.block(seconds(1), at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(10));
  EXPECT_EQ(limiter.check(2, at_ns(0)).outcome, Outcome::kNever);
  limiter.block(seconds(20), at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(20));
  EXPECT_TRUE(limiter.allow(1, at_ns(20 * kSecond)));
}

TEST(Limiter, TellsWhoeverIsBlockedWhatWindowsHoldAtTheEndAndChargesNone) {
  auto limiter = Limiter::make({FixedWindow{1, seconds(10)}, FixedWindow{5, seconds(60)}});
  ASSERT_TRUE(limiter);
  limiter->block(seconds(1), at_ns(0));
  EXPECT_EQ(limiter->check(1, at_ns(0)).retry_after, seconds(1));
  EXPECT_TRUE(limiter->allow(1, at_ns(kSecond)));
  limiter->block(seconds(1), at_ns(kSecond));
  EXPECT_EQ(limiter->check(1, at_ns(kSecond)).retry_after, seconds(9));
  EXPECT_EQ(limiter->check(2, at_ns(kSecond)).outcome, Outcome::kNever);
}

TEST(Limiter, KnowsOnlyABoundOfCallsInFlightPastABlock) {
  Limiter limiter = make(Concurrency{1, seconds(60)});
  ASSERT_TRUE(limiter.allow(1, at_ns(0)));
  limiter.block(seconds(1), at_ns(0));
  const Verdict refused = limiter.check(1, at_ns(0));
  EXPECT_EQ(refused.retry_after, seconds(60));
  EXPECT_FALSE(refused.retry_known);
  limiter.block(seconds(70), at_ns(0));
  EXPECT_TRUE(limiter.check(1, at_ns(0)).retry_known);
}

TEST(Limiter, BlocksFromTheLatestSampleAndUntilOneThatWasSeen) {
  const Numbers kinds[] = {TokenBucket{{10, seconds(1)}, 10}, SlidingCounter{10, seconds(1)}};
  for (const Numbers& numbers : kinds) {
    Limiter limiter = make(numbers);
    ASSERT_TRUE(limiter.allow(1, at_ns(200 * kSecond)));
    limiter.block(seconds(5), at_ns(190 * kSecond));
    EXPECT_FALSE(limiter.allow(1, at_ns(200 * kSecond)));
    EXPECT_EQ(limiter.check(1, at_ns(190 * kSecond)).retry_after, seconds(5));
    ASSERT_TRUE(limiter.allow(1, at_ns(206 * kSecond)));
    EXPECT_TRUE(limiter.allow(1, at_ns(204 * kSecond)));
    EXPECT_TRUE(limiter.reserve(1, Duration(0), at_ns(204 * kSecond)).granted());
  }
}

TEST(Limiter, BlocksForDecadesToTheNanosecond) {
  Limiter limiter = bucket(1, seconds(1), 1);
  const Duration span = seconds(1'000'000'000);
  limiter.block(span, at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, span);
  EXPECT_FALSE(limiter.allow(1, at_ns(span.count() - 1)));
  EXPECT_TRUE(limiter.allow(1, at_ns(span.count())));
}

}  // namespace
}  // namespace weir
