#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace weir::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

limit::Rule rule_of(const Numbers& numbers) {
  return *limit::Rule::make(numbers);
}

limit::Rule bucket(std::uint64_t per_second, std::uint64_t burst) {
  return rule_of(TokenBucket{Rate{per_second, seconds(1)}, burst});
}

constexpr Instant kStart = at_ns(1'700'000'000'000'000'000);

// One store and short words for one-counter requests.
class MemoryStoreTest : public ::testing::Test {
 protected:
  Verdict take(const limit::Rule& rule, std::string_view key, std::uint64_t cost = 1) {
    const Charge charge{&rule, "limit", key, cost};
    Answer answer;
    const Admission admission = store_.charge_now({&charge, 1}, now_, {&answer, 1});
    EXPECT_EQ(admission.admitted, answer.verdict.allowed());
    return answer.verdict;
  }
  void advance(Duration d) { now_ = now_ + d; }

  MemoryStore store_{MemoryOptions{1000}};
  Instant now_ = kStart;
};

TEST_F(MemoryStoreTest, DeniesTheSixthCallOfABurstOfFive) {
  const auto rule = bucket(1, 5);
  for (int left = 4; left >= 0; --left) EXPECT_EQ(take(rule, "a").remaining, std::uint64_t(left));
  const Verdict denied = take(rule, "a");
  EXPECT_EQ(denied.outcome, Outcome::kDenied);
  EXPECT_EQ(denied.retry_after, seconds(1));
  EXPECT_TRUE(take(rule, "b").allowed()) << "another key has its own counter";
}

TEST_F(MemoryStoreTest, APeekCreatesNothing) {
  const auto rule = bucket(1, 5);
  EXPECT_EQ(take(rule, "a", 0).remaining, 5u);
  EXPECT_EQ(store_.keys(), 0u);
}

TEST_F(MemoryStoreTest, ADeniedNewKeyIsNotStored) {
  const auto rule = bucket(1, 5);
  EXPECT_EQ(take(rule, "a", 6).outcome, Outcome::kNever);
  EXPECT_EQ(store_.keys(), 0u);
}

TEST_F(MemoryStoreTest, ALateSampleCountsAsTheHighWaterMark) {
  const auto rule = bucket(1000, 2);
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) {
    now_ = kStart + (i % 2 == 0 ? milliseconds(10) : milliseconds(0));
    admitted += take(rule, "a").allowed();
  }
  EXPECT_EQ(admitted, 2);
}

TEST_F(MemoryStoreTest, TakesNothingFromAnyLimitWhenOneRefuses) {
  const auto global = bucket(1, 100);
  const auto per_ip = bucket(1, 1);
  for (int i = 0; i < 100; ++i) {
    const Charge charges[] = {{&global, "global", ""}, {&per_ip, "per_ip", "x"}};
    Answer answers[2];
    const bool admitted = store_.charge_now(charges, now_, answers);
    EXPECT_EQ(admitted, i == 0);
    EXPECT_TRUE(answers[0].verdict.allowed());
    EXPECT_EQ(answers[0].verdict.remaining, 99u);
    EXPECT_EQ(answers[1].verdict.allowed(), i == 0);
  }
}

TEST_F(MemoryStoreTest, OfAShadowLimitOnePairOfNumbersThatRefusesKeepsTheOthersFromTaking) {
  const auto narrow = bucket(1, 1);
  const auto wide = bucket(1, 5);
  const auto other = bucket(1, 9);
  const Charge charges[] = {{&narrow, "shadow", "x", 1, true},
                            {&wide, "shadow/1", "x", 1, true, true},
                            {&other, "other", "x", 1, true}};
  Answer answers[3];
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(store_.charge_now(charges, now_, answers).admitted);
  }
  EXPECT_FALSE(answers[0].verdict.allowed());
  EXPECT_EQ(answers[1].verdict.remaining, 4u) << "told as it stands";
  EXPECT_EQ(answers[2].verdict.remaining, 6u) << "of another limit";
}

TEST_F(MemoryStoreTest, ALookIsAnsweredAsTheCallWouldBeAndTakesNothing) {
  const auto rule = bucket(1, 3);
  const Charge charge{.rule = &rule, .counter = "limit", .key = "x", .cost = 2};
  Answer answer;
  for (int i = 0; i < 3; ++i) {
    store_.look_now({&charge, 1}, now_, {&answer, 1});
    EXPECT_TRUE(answer.verdict.allowed());
    EXPECT_EQ(answer.verdict.remaining, 3u);
  }
  EXPECT_TRUE(store_.charge_now({&charge, 1}, now_, {&answer, 1}).admitted);
  store_.look_now({&charge, 1}, now_, {&answer, 1});
  EXPECT_FALSE(answer.verdict.allowed());
}

TEST_F(MemoryStoreTest, AShadowLimitNeverRefusesAndIsChargedOnlyWithTheRequest) {
  const auto enforced = bucket(1, 3);
  const auto shadow = bucket(1, 2);
  std::vector<bool> admitted, would;
  std::uint64_t shadow_left = 0;
  for (int i = 0; i < 4; ++i) {
    const Charge charges[] = {{&shadow, "shadow", "x", 1, true}, {&enforced, "enforced", "x"}};
    Answer answers[2];
    admitted.push_back(store_.charge_now(charges, now_, answers));
    would.push_back(answers[0].verdict.allowed());
    shadow_left = answers[0].verdict.remaining;
  }
  EXPECT_EQ(admitted, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(would, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(shadow_left, 0u);
}

TEST_F(MemoryStoreTest, RefundGivesBackAndIsClampedAtFull) {
  const auto rule = bucket(1, 5);
  take(rule, "a", 5);
  const Charge charge{&rule, "limit", "a", 2};
  store_.refund({&charge, 1}, now_);
  EXPECT_EQ(take(rule, "a", 0).remaining, 2u);
  const Charge much{&rule, "limit", "a", 1000};
  store_.refund({&much, 1}, now_);
  EXPECT_EQ(take(rule, "a", 0).remaining, 5u);
  EXPECT_EQ(store_.keys(), 0u) << "a fresh key is forgotten";
}

TEST_F(MemoryStoreTest, RefundOfAnUnknownKeyCreatesNothing) {
  const auto rule = bucket(1, 5);
  const Charge charge{&rule, "limit", "a", 2};
  store_.refund({&charge, 1}, now_);
  EXPECT_EQ(store_.keys(), 0u);
}

TEST_F(MemoryStoreTest, ResetForgetsTheKey) {
  const auto rule = bucket(1, 5);
  take(rule, "a", 5);
  const Charge charge{&rule, "limit", "a"};
  store_.reset({&charge, 1}, nullptr);
  EXPECT_EQ(take(rule, "a").remaining, 4u);
}

TEST_F(MemoryStoreTest, TellsApartCountersWhoseNamesAndKeysJoinToTheSameText) {
  const auto rule = bucket(1, 1);
  const Charge one{&rule, "ab", "c"};
  const Charge other{&rule, "a", "bc"};
  Answer answer;
  EXPECT_TRUE(store_.charge_now({&one, 1}, now_, {&answer, 1}));
  EXPECT_TRUE(store_.charge_now({&other, 1}, now_, {&answer, 1}));
}

TEST_F(MemoryStoreTest, AnEmptyKeyAndOneOfAMegabyteAreKeysLikeOthers) {
  const auto rule = bucket(1, 1);
  const std::string huge(1 << 20, 'x');
  EXPECT_TRUE(take(rule, "").allowed());
  EXPECT_FALSE(take(rule, "").allowed());
  EXPECT_TRUE(take(rule, huge).allowed());
  EXPECT_FALSE(take(rule, huge).allowed());
  EXPECT_TRUE(take(rule, huge + "y").allowed());
}

TEST_F(MemoryStoreTest, ADrainedKeyOutlivesAFloodOfOtherKeys) {
  const auto rule = bucket(1, 5);
  take(rule, "victim", 5);
  for (int i = 0; i < 100'000; ++i) take(rule, "flood" + std::to_string(i));
  EXPECT_FALSE(take(rule, "victim").allowed());
  EXPECT_LE(store_.keys(), 1000u);
  EXPECT_EQ(store_.evictions(), 100'001u - 1000u);
}

TEST_F(MemoryStoreTest, DropsKeysThatEqualFreshBeforeItEvictsAny) {
  const auto rule = bucket(1, 5);
  for (int i = 0; i < 500; ++i) take(rule, "early" + std::to_string(i));
  advance(seconds(1));
  for (int i = 0; i < 1000; ++i) take(rule, "late" + std::to_string(i));
  EXPECT_EQ(store_.evictions(), 0u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(take(rule, "late" + std::to_string(i)).remaining, 3u);
}

TEST_F(MemoryStoreTest, ASweepAfterIdlingLeavesNothing) {
  const auto rule = bucket(1, 5);
  for (int i = 0; i < 1000; ++i) take(rule, std::to_string(i), 5);
  EXPECT_EQ(store_.sweep(now_), 0u);
  advance(seconds(5));
  EXPECT_EQ(store_.sweep(now_), 1000u);
  EXPECT_EQ(store_.keys(), 0u);
}

TEST_F(MemoryStoreTest, ASweepKeepsAKeyOfALongLimitUntilItIsFull) {
  const auto rule = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 1});
  take(rule, "a");
  advance(std::chrono::hours(24) - Duration(1));
  EXPECT_EQ(store_.sweep(now_), 0u);
  EXPECT_FALSE(take(rule, "a").allowed());
  advance(Duration(1));
  EXPECT_EQ(store_.sweep(now_), 1u);
}

TEST_F(MemoryStoreTest, KeysThatComeAndGoReuseTheirRoom) {
  const auto rule = bucket(10, 10);
  for (int i = 0; i < 200'000; ++i) {
    advance(milliseconds(10));  // a key is fresh again after 10 others, and stays for 100 more
    take(rule, std::to_string(i));
    ASSERT_LE(store_.keys(), 130u);
  }
  EXPECT_EQ(store_.evictions(), 0u);
}

TEST_F(MemoryStoreTest, KeysThatAreFreshGoAtOnceWhereRoomIsScarce) {
  const auto rule = bucket(10, 10);
  for (int i = 0; i < 200'000; ++i) {
    advance(std::chrono::microseconds(200));  // a key is fresh again after 500 others
    take(rule, std::to_string(i));
    ASSERT_LE(store_.keys(), 800u);
  }
  EXPECT_EQ(store_.evictions(), 0u);
}

TEST_F(MemoryStoreTest, ACapOfThreeHoldsThreeKeys) {
  MemoryStore small(MemoryOptions{3});
  const auto rule = bucket(1, 5);
  for (const std::string key : {"", "a", "b", "c", "d", "e"}) {
    const Charge charge{&rule, "limit", key};
    Answer answer;
    EXPECT_TRUE(small.charge_now({&charge, 1}, now_, {&answer, 1}));
    EXPECT_LE(small.keys(), 3u);
  }
}

TEST_F(MemoryStoreTest, AReloadWithEqualNumbersChangesNothing) {
  take(bucket(1, 5), "a", 5);
  EXPECT_FALSE(take(bucket(1, 5), "a").allowed());
  EXPECT_EQ(store_.rules(), 1u);
}

TEST_F(MemoryStoreTest, ARaisedBurstGivesADrainedKeyNothingAtOnce) {
  take(bucket(1, 10), "a", 10);
  const auto raised = bucket(1, 20);
  EXPECT_EQ(take(raised, "a").retry_after, seconds(1));
  advance(seconds(20));
  EXPECT_EQ(take(raised, "a", 0).remaining, 20u);
}

TEST_F(MemoryStoreTest, ALoweredBurstCapsWhatIsLeft) {
  take(bucket(1, 100), "a", 60);
  EXPECT_EQ(take(bucket(1, 20), "a", 0).remaining, 20u);
}

TEST_F(MemoryStoreTest, AKeyKeepsItsOldRateUntilItsFirstUse) {
  const auto fast = bucket(10, 1);
  take(fast, "a");
  EXPECT_EQ(take(fast, "a").retry_after, milliseconds(100));
  const auto slow = bucket(1, 1);
  EXPECT_EQ(take(slow, "a", 0).next_after, seconds(1)) << "a peek is no use";
  advance(milliseconds(100));
  EXPECT_TRUE(take(slow, "a").allowed()) << "the wait told before is enough";
  EXPECT_EQ(take(slow, "a").retry_after, seconds(1));
}

TEST_F(MemoryStoreTest, AChangedAlgorithmStartsANewCounter) {
  take(bucket(1, 5), "a", 5);
  EXPECT_EQ(take(rule_of(SlidingCounter{5, seconds(1)}), "a").remaining, 4u);
}

TEST_F(MemoryStoreTest, ForgetsNumbersThatNoKeyUsesAnyMore) {
  for (std::uint64_t burst = 1; burst <= 10'000; ++burst) take(bucket(1, burst), "a");
  EXPECT_LT(store_.rules(), 2100u);
  EXPECT_EQ(store_.keys(), 1u);
}

TEST_F(MemoryStoreTest, ASlidingLogCountsCallsOfOneInstantOneByOne) {
  const auto rule = rule_of(SlidingLog{5, seconds(60)});
  int admitted = 0;
  for (int i = 0; i < 100; ++i) admitted += take(rule, "a").allowed();
  EXPECT_EQ(admitted, 5);
  EXPECT_EQ(store_.marks(), 1u) << "they share one mark";
  EXPECT_EQ(take(rule, "a").retry_after, seconds(60));
}

TEST_F(MemoryStoreTest, DeniedCallsLeaveNothingInALog) {
  const auto rule = rule_of(SlidingLog{5, seconds(3600)});
  for (int i = 0; i < 100'000; ++i) {
    take(rule, "a");
    advance(milliseconds(1));
  }
  EXPECT_EQ(store_.marks(), 5u);
}

TEST_F(MemoryStoreTest, ALogRefundTakesOutTheCallThatWasCharged) {
  const auto rule = rule_of(SlidingLog{2, seconds(60)});
  take(rule, "a");
  const Instant first = now_;
  advance(seconds(10));
  take(rule, "a");
  const Charge charge{.rule = &rule, .counter = "limit", .key = "a", .charged_at = first};
  store_.refund({&charge, 1}, now_);
  EXPECT_EQ(take(rule, "a").remaining, 0u);
  EXPECT_EQ(take(rule, "a").retry_after, seconds(60)) << "both that count were made now";
}

TEST_F(MemoryStoreTest, AReleasedCallMakesRoomForTheNext) {
  const auto rule = rule_of(Concurrency{2, seconds(30)});
  take(rule, "a");
  const Instant first = now_;
  advance(seconds(1));
  take(rule, "a");
  const Verdict denied = take(rule, "a");
  EXPECT_EQ(denied.outcome, Outcome::kDenied);
  EXPECT_EQ(denied.retry_after, seconds(29));
  EXPECT_FALSE(denied.retry_known);
  const Charge charge{.rule = &rule, .counter = "limit", .key = "a", .charged_at = first};
  store_.refund({&charge, 1}, now_);
  store_.refund({&charge, 1}, now_);
  EXPECT_TRUE(take(rule, "a").allowed());
  EXPECT_FALSE(take(rule, "a").allowed()) << "a second release of one call gives nothing";
}

TEST_F(MemoryStoreTest, AStoreWithoutRoomForMarksHoldsBackLongerAndNeverAdmitsMore) {
  MemoryStore small(MemoryOptions{100, 10});
  const auto rule = rule_of(SlidingLog{50, seconds(60)});
  Answer answer;
  const Charge charge{&rule, "limit", "a"};
  for (int i = 0; i < 50; ++i) {
    advance(milliseconds(1));
    EXPECT_TRUE(small.charge_now({&charge, 1}, now_, {&answer, 1}));
  }
  EXPECT_EQ(small.marks(), 10u);
  EXPECT_EQ(small.joined_marks(), 40u);
  EXPECT_FALSE(small.charge_now({&charge, 1}, now_, {&answer, 1}));
  EXPECT_EQ(answer.verdict.retry_after, seconds(60) - milliseconds(9));
}

TEST_F(MemoryStoreTest, AForgottenLogGivesItsMarksBack) {
  const auto rule = rule_of(SlidingLog{5, seconds(60)});
  take(rule, "a");
  advance(seconds(60));
  EXPECT_EQ(store_.sweep(now_), 1u);
  EXPECT_EQ(store_.marks(), 0u);
}

TEST_F(MemoryStoreTest, AFixedWindowGivesBackOnlyInTheWindowThatWasCharged) {
  const auto rule = rule_of(FixedWindow{1, seconds(1)});
  now_ = at_ns(900'000'000);
  take(rule, "a");
  const Charge charge{.rule = &rule, .counter = "limit", .key = "a", .charged_at = now_};
  now_ = at_ns(1'200'000'000);
  take(rule, "a");
  store_.refund({&charge, 1}, now_);
  EXPECT_FALSE(take(rule, "a").allowed());
}

TEST_F(MemoryStoreTest, AFixedWindowFollowsALoweredAndRaisedLimit) {
  const auto at = [](std::uint64_t limit) { return rule_of(FixedWindow{limit, seconds(60)}); };
  for (int i = 0; i < 50; ++i) take(at(100), "a");
  EXPECT_FALSE(take(at(10), "a").allowed());
  EXPECT_EQ(take(at(200), "a").remaining, 149u);
  EXPECT_FALSE(take(at(30), "a").allowed());
  EXPECT_FALSE(take(at(0), "a").allowed());
  EXPECT_TRUE(take(at(150), "a").allowed());
}

TEST_F(MemoryStoreTest, AWallClockThatStepsBackAnHourHoldsAFixedWindowForNoLongerThanItself) {
  const auto rule = rule_of(FixedWindow{1, seconds(10)});
  take(rule, "a");
  now_.wall_ns -= 3'600'000'000'000;
  EXPECT_FALSE(take(rule, "a").allowed()) << "nor does it get a second limit";
  advance(seconds(10));
  EXPECT_TRUE(take(rule, "a").allowed());
}

TEST_F(MemoryStoreTest, EightThreadsOnOneKeyAdmitExactlyTheBurst) {
  const auto rule = bucket(0, 1000);
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Charge charge{&rule, "limit", "hot"};
        Answer answer;
        admitted += store_.charge_now({&charge, 1}, kStart, {&answer, 1}) ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(admitted, 1000);
}

TEST_F(MemoryStoreTest, ThreadsThatMeetTheSameTwoLimitsInOppositeOrderDoNotWaitForEachOther) {
  MemoryStore large(MemoryOptions{100'000});
  const auto rule = bucket(0, 100);
  std::atomic<int> admitted{0};
  const auto run = [&](std::string_view first, std::string_view second) {
    for (int i = 0; i < 2000; ++i) {
      const Charge charges[] = {{&rule, "limit", first}, {&rule, "limit", second}};
      Answer answers[2];
      admitted += large.charge_now(charges, kStart, answers) ? 1 : 0;
    }
  };
  std::thread one(run, "a", "b");
  std::thread two(run, "b", "a");
  one.join();
  two.join();
  EXPECT_EQ(admitted, 100);
}

}  // namespace
}  // namespace weir::store
