// Corrections of what was charged, in memory.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "store/memory/memory_store.h"

namespace weir::store {
namespace {

using std::chrono::seconds;
using Outcome = Correction::Outcome;

constexpr Instant kStart = at_ns(1'700'000'000'000'000'000);

limit::Rule rule_of(const Numbers& numbers) {
  return *limit::Rule::make(numbers);
}

class Correct : public testing::Test {
 protected:
  Charge charge_of(const limit::Rule& rule, std::uint64_t cost) {
    return Charge{.rule = &rule, .counter = "c", .key = "k", .cost = cost};
  }
  Admission charge(const limit::Rule& rule, std::uint64_t cost, Instant now = kStart) {
    const Charge one = charge_of(rule, cost);
    Answer answer;
    const Admission admission = store_.charge_now({&one, 1}, now, {&answer, 1});
    left_ = answer.verdict.remaining;
    return admission;
  }
  Correction correct(const limit::Rule& rule, Change change, std::uint64_t cost, Instant charged_at,
                     Instant now = kStart, std::optional<Once> once = std::nullopt) {
    Charge one = charge_of(rule, cost);
    one.change = change;
    one.charged_at = charged_at;
    Correction made;
    store_.correct({&one, 1}, once, now, [&made](Correction told) { made = told; });
    return made;
  }

  MemoryStore store_;
  std::uint64_t left_ = 0;
};

TEST_F(Correct, ABucketThatOwesLeavesItsSlotAndComesBack) {
  const limit::Rule rule = rule_of(TokenBucket{{1, seconds(1)}, 5});
  for (int i = 0; i < 5; ++i) charge(rule, 1);  // its numbers are used often enough for a slot
  EXPECT_EQ(store_.keys_in_slots(), MemoryStore().keys_in_slots() + (kSlotsOpen ? 1u : 0u));
  correct(rule, Change::kTake, 3, kStart);
  EXPECT_EQ(store_.keys_in_slots(), 0u);
  EXPECT_EQ(store_.keys(), 1u);
  EXPECT_FALSE(charge(rule, 1, kStart + Duration(seconds(4)) + Duration(-1)));
  EXPECT_TRUE(charge(rule, 1, kStart + Duration(seconds(4))));
  EXPECT_EQ(store_.keys_in_slots(), kSlotsOpen ? 1u : 0u);
  EXPECT_EQ(store_.keys(), 1u);
}

TEST_F(Correct, TakesFromAKeyThatIsFreshByNow) {
  const limit::Rule rule = rule_of(TokenBucket{{1, seconds(1)}, 5});
  correct(rule, Change::kTake, 7, kStart);
  EXPECT_FALSE(charge(rule, 1, kStart + Duration(seconds(2))));
  EXPECT_TRUE(charge(rule, 1, kStart + Duration(seconds(3))));
}

TEST_F(Correct, IsMadeOnceWhereItIsNamed) {
  const limit::Rule rule = rule_of(TokenBucket{{1, seconds(1)}, 5});
  charge(rule, 5);
  const Once once{{1, 2}, kStart + Duration(seconds(60))};
  EXPECT_EQ(correct(rule, Change::kGiveBack, 2, kStart, kStart, once).outcome, Outcome::kMade);
  EXPECT_EQ(correct(rule, Change::kGiveBack, 2, kStart, kStart, once).outcome, Outcome::kSpent);
  const Instant late = kStart + Duration(seconds(60));
  EXPECT_EQ(correct(rule, Change::kGiveBack, 2, kStart, late, once).outcome, Outcome::kTooLate);
  charge(rule, 0);
  EXPECT_EQ(left_, 5u);  // by the minute that has passed
}

TEST_F(Correct, OfManyThreadsWithOneNameOneMakesIt) {
  const limit::Rule rule = rule_of(TokenBucket{{0, seconds(1)}, 1000});
  charge(rule, 1000);
  const Once once{{3, 4}, kStart + Duration(seconds(60))};
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        const auto told = correct(rule, Change::kGiveBack, 1, kStart, kStart, once);
        if (told.outcome == Outcome::kMade) ++made;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  charge(rule, 0);
  EXPECT_EQ(left_, 1u);
}

TEST_F(Correct, GivesBackToAKeyWhoseNumbersHaveChangedMeanwhile) {
  const limit::Rule ten = rule_of(TokenBucket{{1, seconds(1)}, 10});
  for (int i = 0; i < 6; ++i) charge(ten, i == 0 ? 5 : 0);  // used often enough for a slot
  const limit::Rule twelve = rule_of(TokenBucket{{1, seconds(1)}, 12});
  correct(twelve, Change::kGiveBack, 7, kStart);
  charge(twelve, 0);
  EXPECT_EQ(left_, 12u);
}

// Both live in one shard, where making a counter drops those that equal fresh.
TEST_F(Correct, OfALogThatWentWhileRoomWasMadeChangesNothing) {
  MemoryStore store({.max_keys = 1000});
  const limit::Rule bucket = rule_of(TokenBucket{{1000, seconds(1)}, 1000});
  for (const Numbers& numbers :
       {Numbers{SlidingLog{10, seconds(1)}}, Numbers{Concurrency{10, seconds(1)}}}) {
    const limit::Rule log = rule_of(numbers);
    std::vector<Charge> charges{{.rule = &bucket, .counter = "a", .key = "k", .cost = 1},
                                {.rule = &log, .counter = "b", .key = "k", .cost = 5}};
    std::vector<Answer> answers(2);
    store.charge_now(charges, kStart, answers);
    store.reset({charges.data(), 1}, nullptr);
    charges[0].change = Change::kTake;
    for (const Change change : {Change::kGiveBack, Change::kRenew}) {
      charges[1].change = change;
      for (Charge& charge : charges) charge.charged_at = kStart;
      Correction made;
      store.correct(charges, std::nullopt, kStart + Duration(seconds(2)),
                    [&made](Correction told) { made = told; });
      EXPECT_EQ(made.outcome, Outcome::kMade);
      EXPECT_EQ(made.found, 0u);
    }
  }
}

TEST_F(Correct, SaysWhetherCallsInFlightWereThere) {
  const limit::Rule rule = rule_of(Concurrency{2, seconds(10)});
  const Instant at = charge(rule, 1).at;
  const Instant later = kStart + Duration(seconds(9));
  const Correction renewed = correct(rule, Change::kRenew, 1, at, later);
  EXPECT_EQ(renewed.found, 1u);
  EXPECT_EQ(renewed.at.steady_ns, later.steady_ns);
  EXPECT_EQ(correct(rule, Change::kGiveBack, 1, at, later).found, 0u);  // it stands elsewhere now
  EXPECT_EQ(correct(rule, Change::kGiveBack, 1, renewed.at, later).found, 1u);
  EXPECT_EQ(correct(rule, Change::kGiveBack, 1, renewed.at, later).found, 0u);
  EXPECT_EQ(correct(rule, Change::kRenew, 1, renewed.at, later).found, 0u);
  EXPECT_EQ(store_.keys(), 0u);
}

}  // namespace
}  // namespace weir::store
