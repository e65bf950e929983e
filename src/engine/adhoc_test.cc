#include "engine/adhoc.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

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
  EXPECT_TRUE(adhoc_.check(bucket(5, 1, seconds(1))));
  const auto held = adhoc_.check(bucket(~std::uint64_t{0}, 1, std::chrono::hours(24)));
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

// A store that answers when the test says, and counts by no rate of seven.
class LateStore final : public store::Store {
 public:
  void charge(std::span<const store::Charge> charges, Instant now, std::span<store::Answer> answers,
              Done done) override {
    looks.push_back([=, this, done = std::move(done)] {
      if (fails) {
        answers.front().known = false;
        done({true, now});
      } else {
        memory_.charge(charges, now, answers, done);
      }
    });
  }
  void correct(std::span<const store::Charge> charges, const std::optional<store::Once>& once,
               Instant now, Corrected told) override {
    const store::Charge charge = charges.front();
    refund = [=, this, told = std::move(told)] {
      if (fails) return told({store::Correction::Outcome::kUnknown});
      memory_.correct({&charge, 1}, once, now, told);
    };
  }
  void reset(std::span<const store::Charge>, Corrected) override {}
  std::optional<Error> cannot_count(const limit::Rule& rule) const override {
    if (std::get<TokenBucket>(rule.numbers()).rate.count != 7) return std::nullopt;
    return Error{ErrorCode::kUnsupported, "seven"};
  }

  void answer_look() {
    const auto look = std::exchange(looks, {}).front();
    look();
  }

  std::vector<std::function<void()>> looks;
  std::function<void()> refund;
  bool fails = false;

 private:
  store::MemoryStore memory_;
};

class LateAdhocTest : public ::testing::Test {
 protected:
  void SetUp() override {
    policy::Policy policy;
    policy.store.on_error = policy::OnError::kDeny;
    ASSERT_TRUE(engine_.install(std::move(policy)));
    ask(5, false);
    store_.answer_look();
    told_.clear();
  }
  // Five in a burst, one a minute.
  void ask(std::uint64_t cost, bool refund) {
    const TokenBucket five{Rate{1, std::chrono::minutes(1)}, 5};
    EXPECT_TRUE(adhoc_.decide({"~test", "k", five, cost, refund}, at_ns(1'700'000'000'000'000'000),
                              [&](const store::Answer& answer) { told_.push_back(answer); }));
  }

  LateStore store_;
  Engine engine_{store_};
  Adhoc adhoc_{store_, engine_};
  std::vector<store::Answer> told_;
};

TEST_F(LateAdhocTest, ALookThatOvertakesItsRefundIsRepeated) {
  ask(2, true);
  store_.answer_look();
  EXPECT_TRUE(told_.empty());
  store_.refund();
  store_.answer_look();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].verdict.remaining, 2u);
}

TEST_F(LateAdhocTest, ALookBehindItsRefundIsAskedOnce) {
  ask(2, true);
  store_.refund();
  EXPECT_EQ(store_.looks.size(), 1u);
  store_.answer_look();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].verdict.remaining, 2u);
  EXPECT_TRUE(store_.looks.empty());
}

TEST_F(LateAdhocTest, ALookThatFailsDoesNotWaitForTheRefund) {
  ask(2, true);
  store_.fails = true;
  store_.answer_look();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].source, Source::kFailClosed);
  store_.refund();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(LateAdhocTest, ARefundThatFailsIsNotToldAsMade) {
  for (const bool early : {false, true}) {
    told_.clear();
    ask(2, true);
    if (early) store_.answer_look();
    store_.fails = true;
    store_.refund();
    store_.fails = false;
    if (!early) store_.answer_look();
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_EQ(told_[0].source, Source::kFailClosed);
  }
}

TEST_F(LateAdhocTest, NumbersThatTheStoreCannotCountByAreAnErrorAndAskNothing) {
  const TokenBucket seven{Rate{7, std::chrono::minutes(1)}, 5};
  EXPECT_EQ(adhoc_.check(seven).error().message, "seven");
  EXPECT_FALSE(adhoc_.decide({"~test", "k", seven}, Instant{},
                             [&](const store::Answer& answer) { told_.push_back(answer); }));
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(store_.looks.empty());
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
