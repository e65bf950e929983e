#include "limit/token_bucket.h"

#include <gtest/gtest.h>

#include "limit/leaky_bucket.h"

namespace weir::limit {
namespace {

using std::chrono::seconds;

// WHY a test of its own: with a burst of 1 a state whose lifetime is its tolerance would be gone as
// it is written, and every call would pass.
TEST(TokenBucket, ABurstOfOneAdmitsOneCallAnInterval) {
  const auto rule = *TokenBucketRule::make(TokenBucket{Rate{10, seconds(60)}, 1});
  const Step first = rule.decide(nullptr, 1, 0);
  EXPECT_TRUE(first.verdict.allowed());
  EXPECT_EQ(rule.fresh_at(first.next), 6'000'000'000);
  const Step early = rule.decide(&first.next, 1, 5'999'999'999);
  EXPECT_EQ(early.verdict.retry_after, Duration(1));
  EXPECT_TRUE(rule.decide(&first.next, 1, 6'000'000'000).verdict.allowed());
}

TEST(TokenBucket, ADenialAndAPeekLeaveTheStateAlone) {
  const auto rule = *TokenBucketRule::make(TokenBucket{Rate{1, seconds(1)}, 2});
  const Step drained = rule.decide(nullptr, 2, 0);
  EXPECT_FALSE(rule.decide(&drained.next, 1, 0).write);
  EXPECT_FALSE(rule.decide(&drained.next, 3, 0).write);
  EXPECT_FALSE(rule.decide(&drained.next, 0, 0).write);
}

TEST(TokenBucket, ThreeASecondForABillionSecondsAreThreeBillion) {
  // One call at each moment told by the one before, but the years between skipped: the state holds
  // the thirds, so the last second is as exact as the first.
  const auto rule = *TokenBucketRule::make(TokenBucket{Rate{3, seconds(1)}, 3'000'000'000});
  const Step drained = rule.decide(nullptr, 3'000'000'000, 0);
  const std::int64_t end = 1'000'000'000'000'000'000;
  EXPECT_EQ(drained.verdict.reset_after, Duration(end));
  EXPECT_EQ(rule.decide(&drained.next, 0, end - 1).verdict.remaining, 2'999'999'999u);
  EXPECT_EQ(rule.decide(&drained.next, 0, end).verdict.remaining, 3'000'000'000u);
}

TEST(TokenBucket, GivesEveryTokenToWhoAsksBetweenTheirComing) {
  const auto rule = *TokenBucketRule::make(TokenBucket{Rate{1000, seconds(1)}, 10});
  std::optional<State> state;
  std::uint64_t taken = 0;
  constexpr std::int64_t kTenSeconds = 10'000'000'000;
  for (std::int64_t now = 0; now <= kTenSeconds; now += 400'000) {
    const auto ask = [&](std::uint64_t cost) {
      return rule.decide(state ? &*state : nullptr, cost, now);
    };
    const std::uint64_t left = ask(0).verdict.remaining;
    if (left == 0) continue;
    state = ask(left).next;
    taken += left;
  }
  EXPECT_EQ(taken, 10u + 10'000u);
}

TEST(TokenBucket, SaysWhenOneMoreIsLeft) {
  const auto rule = *TokenBucketRule::make(TokenBucket{Rate{2, seconds(3)}, 5});
  const Step used = rule.decide(nullptr, 3, 0);
  EXPECT_EQ(used.verdict.remaining, 2u);
  EXPECT_EQ(used.verdict.next_after, Duration(1'500'000'000));
  const Verdict later = rule.decide(&used.next, 0, 1'400'000'000).verdict;
  EXPECT_EQ(later.remaining, 2u);
  EXPECT_EQ(later.next_after, Duration(100'000'000));
}

TEST(LeakyBucket, HoldsACallForTheExactWaitRoundedUp) {
  const auto rule = *LeakyBucketRule::make(LeakyBucket{Rate{3, seconds(1)}, 5});
  const Step first = rule.decide(nullptr, 1, 0);
  const Step second = rule.decide(&first.next, 1, 0);
  const Step third = rule.decide(&second.next, 1, 0);
  const Step fourth = rule.decide(&third.next, 1, 0);
  EXPECT_EQ(first.verdict.delay, Duration(0));
  EXPECT_EQ(second.verdict.delay, Duration(333'333'334));
  EXPECT_EQ(third.verdict.delay, Duration(666'666'667));
  EXPECT_EQ(fourth.verdict.delay, seconds(1));
}

TEST(LeakyBucket, ADeniedCallIsNotHeld) {
  const auto rule = *LeakyBucketRule::make(LeakyBucket{Rate{1, seconds(1)}, 0});
  const Step first = rule.decide(nullptr, 1, 0);
  EXPECT_EQ(rule.decide(&first.next, 1, 0).verdict.delay, Duration(0));
}

}  // namespace
}  // namespace weir::limit
