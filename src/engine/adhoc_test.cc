#include "engine/adhoc.h"

#include <gtest/gtest.h>

#include <optional>

#include "store/memory/memory_store.h"
#include "support/failed_store.h"

namespace weir::engine {
namespace {

using std::chrono::seconds;

class AdhocTest : public ::testing::Test {
 protected:
  static TokenBucket bucket(std::uint64_t burst, std::uint64_t count, Duration period) {
    return TokenBucket{Rate{count, period}, burst};
  }

  Verdict take(std::string_view key, const TokenBucket& numbers, std::uint64_t cost = 1,
               bool refund = false) {
    std::optional<Verdict> verdict;
    const auto asked =
        adhoc_.decide({"~test", key, numbers, cost, refund}, now_,
                      [&](const store::Answer& answer) { verdict = answer.verdict; });
    EXPECT_TRUE(asked) << asked.error().message;
    return verdict.value_or(Verdict{});
  }

  store::MemoryStore store_;
  void SetUp() override { ASSERT_TRUE(engine_.install(policy::Policy{})); }

  Engine engine_{store_};
  Adhoc adhoc_{store_, engine_};
  Instant now_ = at_ns(1'700'000'000'000'000'000);
};

TEST_F(AdhocTest, SaysBeforehandWhichNumbersNoCounterCanHold) {
  EXPECT_TRUE(Adhoc::check(bucket(5, 1, seconds(1))));
  const auto held = Adhoc::check(bucket(~std::uint64_t{0}, 1, std::chrono::hours(24)));
  ASSERT_FALSE(held);
  EXPECT_NE(held.error().message, "");
}

TEST_F(AdhocTest, DecidesByTheNumbersOfTheCall) {
  const TokenBucket two = bucket(2, 1, seconds(1));
  EXPECT_TRUE(take("k", two).allowed());
  EXPECT_TRUE(take("k", two).allowed());
  EXPECT_EQ(take("k", two).retry_after, seconds(1));
  EXPECT_TRUE(take("other", two).allowed());
}

TEST_F(AdhocTest, AKeyWhoseNumbersChangeKeepsTheTimeUntilItIsFull) {
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(take("k", bucket(60, 60, seconds(60))).allowed());
  const TokenBucket slower = bucket(6, 6, seconds(60));
  const Verdict first = take("k", slower);
  EXPECT_EQ(first.remaining, 2u);
  EXPECT_EQ(first.reset_after, seconds(40));
  EXPECT_EQ(take("k", slower).remaining, 1u);
  EXPECT_EQ(take("k", slower).remaining, 0u);
  EXPECT_EQ(take("k", slower).retry_after, seconds(10));
}

TEST_F(AdhocTest, AKeyIsNeverRefusedLongerThanTheNewTimeToFull) {
  for (int i = 0; i < 60; ++i) take("k", bucket(60, 1, seconds(60)));
  now_ = now_ + seconds(1800);
  EXPECT_EQ(take("k", bucket(60, 60, seconds(60))).retry_after, seconds(1));
}

TEST_F(AdhocTest, ARefundReportsWhatIsLeftAndIsClampedAtFull) {
  const TokenBucket five = bucket(5, 1, seconds(1));
  take("k", five, 5);
  EXPECT_EQ(take("k", five, 1, /*refund=*/true).remaining, 1u);
  EXPECT_EQ(take("k", five, 100, /*refund=*/true).remaining, 5u);
}

TEST_F(AdhocTest, NumbersThatNoStateCanHoldAreAnErrorAndAskNothing) {
  bool told = false;
  const auto asked = adhoc_.decide({"~test", "k", bucket(~0ull, 1, seconds(86'400))}, now_,
                                   [&](const store::Answer&) { told = true; });
  EXPECT_FALSE(asked);
  EXPECT_FALSE(told);
  EXPECT_EQ(store_.keys(), 0u);
}

TEST_F(AdhocTest, CallersThatMakeUpNumbersAreServedAllTheSame) {
  for (std::uint64_t i = 1; i < 3 * Adhoc::kMaxRules; ++i) {
    EXPECT_TRUE(take("k" + std::to_string(i), bucket(i, i, seconds(1))).allowed());
  }
  EXPECT_FALSE(take("k1", bucket(1, 1, seconds(1))).allowed());
}

class AdhocFailureTest : public ::testing::Test {
 protected:
  void start(policy::OnError on_error, std::uint32_t instances = 1) {
    policy::Policy policy;
    policy.store.on_error = on_error;
    policy.store.instances = instances;
    ASSERT_TRUE(engine_.install(std::move(policy)));
  }
  // Five in a burst, one a minute.
  store::Answer take(std::uint64_t cost = 1) {
    store::Answer told;
    const TokenBucket five{Rate{1, std::chrono::minutes(1)}, 5};
    EXPECT_TRUE(adhoc_.decide({"~test", "k", five, cost, false}, at_ns(1'700'000'000'000'000'000),
                              [&](const store::Answer& answer) { told = answer; }));
    return told;
  }

  testing::FailedStore store_;
  Engine engine_{store_};
  Adhoc adhoc_{store_, engine_};
};

TEST_F(AdhocFailureTest, OnErrorAllowLetsTheCallThroughAsForAFreshKey) {
  start(policy::OnError::kAllow);
  for (int i = 0; i < 10; ++i) {
    const store::Answer answer = take();
    EXPECT_TRUE(answer.verdict.allowed());
    EXPECT_EQ(answer.source, Source::kFailOpen);
    EXPECT_EQ(answer.verdict.remaining, 5u);
  }
}

TEST_F(AdhocFailureTest, OnErrorDenyRefusesTheCall) {
  start(policy::OnError::kDeny);
  const store::Answer answer = take();
  EXPECT_FALSE(answer.verdict.allowed());
  EXPECT_EQ(answer.source, Source::kFailClosed);
}

TEST_F(AdhocFailureTest, OnErrorLocalCountsThisInstancesShareOfTheNumbers) {
  start(policy::OnError::kLocal, 2);
  EXPECT_EQ(take().verdict.remaining, 1u);
  const store::Answer second = take();
  EXPECT_TRUE(second.verdict.allowed());
  EXPECT_EQ(second.source, Source::kLocal);
  const store::Answer third = take();
  EXPECT_FALSE(third.verdict.allowed());
  EXPECT_EQ(third.verdict.retry_after, std::chrono::minutes(2));
  EXPECT_EQ(take(3).verdict.outcome, Outcome::kNever);
}

}  // namespace
}  // namespace weir::engine
