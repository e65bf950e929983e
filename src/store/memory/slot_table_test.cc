// The memory store's slots: the same answers as the wide form, for one caller and for many.

#include "store/memory/slot_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/memory/memory_store.h"

namespace weir::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = at_ns(1'767'225'600'000'000'000);

limit::Rule rule_of(const Numbers& numbers) {
  return *limit::Rule::make(numbers);
}

limit::Rule bucket(std::uint64_t per_second, std::uint64_t burst) {
  return rule_of(TokenBucket{Rate{per_second, seconds(1)}, burst});
}

Verdict take(MemoryStore& store, const limit::Rule& rule, std::string_view key, Instant now,
             std::uint64_t cost = 1) {
  const Charge charge{&rule, "limit", key, cost};
  Answer answer;
  store.charge_now({&charge, 1}, now, {&answer, 1});
  return answer.verdict;
}

// A place is given to numbers at their fourth use.
void warm_up(MemoryStore& store, const limit::Rule& rule) {
  for (int i = 0; i < 4; ++i) take(store, rule, "warm", kStart, 0);
}

template <typename Body>
void on_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(body, t);
  for (auto& thread : threads) thread.join();
}

TEST(NarrowBucket, AnswersAsTheWideFormTickForTickAtEveryRate) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 3000; ++round) {
    const TokenBucket numbers{Rate{1 + below(round % 2 == 0 ? 20 : 2'000'000),
                                   Duration(1 + static_cast<std::int64_t>(below(10'000'000'000)))},
                              below(50)};
    const auto rule = limit::Rule::make(numbers);
    ASSERT_TRUE(rule);
    if (!limit::NarrowBucket::can_hold(*rule->token_bucket())) continue;
    const limit::NarrowBucket narrow(*rule->token_bucket());
    const std::int64_t epoch = kStart.steady_ns;
    std::uint64_t arrival = 0;
    std::optional<limit::State> state;
    std::int64_t since = 0;
    for (int call = 0; call < 30; ++call) {
      if (!narrow.reaches(since)) break;
      const std::uint64_t cost = below(4);
      const std::uint64_t debt = narrow.debt(arrival, since);
      const auto got = narrow.decide(debt, cost);
      const auto right = rule->decide(state ? &*state : nullptr, cost, at_ns(epoch + since));
      ASSERT_EQ(narrow.verdict(got, cost), right.verdict) << "round " << round << " call " << call;
      ASSERT_EQ(got.admitted, right.verdict.allowed());
      ASSERT_EQ(got.debt != debt, right.write);
      if (right.write) {
        arrival = narrow.ticks(since) + got.debt;
        state = right.next;
        ASSERT_EQ(narrow.widen(arrival, epoch), *state);
        ASSERT_EQ(narrow.narrow(*state, epoch), arrival);
      }
      since += static_cast<std::int64_t>(
          below(static_cast<std::uint64_t>(right.verdict.reset_after.count()) + 2));
    }
  }
}

TEST(NarrowBucket, DoesNotHoldABucketThatNeverRefillsOrTakesMoreThan2To61Ticks) {
  EXPECT_FALSE(limit::NarrowBucket::can_hold(*bucket(0, 5).token_bucket()));
  const auto prime = rule_of(TokenBucket{Rate{999'999'937, seconds(1)}, 1'000'000'000'000});
  EXPECT_FALSE(limit::NarrowBucket::can_hold(*prime.token_bucket()));
  EXPECT_TRUE(limit::NarrowBucket::can_hold(*bucket(10, 20).token_bucket()));
}

TEST(MemorySlots, TakeABucketOnceItsNumbersHaveBeenUsedFourTimes) {
  MemoryStore store;
  const auto rule = bucket(1, 10);
  for (std::uint64_t left = 9; left >= 7; --left) {
    EXPECT_EQ(take(store, rule, "a", kStart).remaining, left);
  }
  EXPECT_EQ(store.keys_in_slots(), 0u);
  EXPECT_EQ(take(store, rule, "a", kStart).remaining, 6u);
  EXPECT_EQ(store.keys_in_slots(), 1u);
  for (std::uint64_t left = 6; left > 0; --left) {
    EXPECT_EQ(take(store, rule, "a", kStart).remaining, left - 1);
  }
  EXPECT_EQ(take(store, rule, "a", kStart).retry_after, seconds(1));
  EXPECT_EQ(store.keys(), 1u);
}

TEST(MemorySlots, HoldTwoHundredThousandKeysWithoutLosingOne) {
  MemoryStore store(MemoryOptions{200'000});
  const auto rule = bucket(1, 5);
  warm_up(store, rule);
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_EQ(take(store, rule, std::to_string(i), kStart, 1 + i % 5).remaining, 4u - i % 5);
  }
  EXPECT_EQ(store.keys(), 200'000u);
  EXPECT_EQ(store.evictions(), 0u);
  EXPECT_GT(store.keys_in_slots(), 198'000u) << "few find their group full by bad luck";
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_EQ(take(store, rule, std::to_string(i), kStart, 0).remaining, 4u - i % 5);
  }
}

TEST(MemorySlots, KeepADrainedKeyThroughAFlood) {
  MemoryStore store(MemoryOptions{1000});
  const auto rule = bucket(1, 5);
  warm_up(store, rule);
  take(store, rule, "victim", kStart, 5);
  for (int i = 0; i < 100'000; ++i) take(store, rule, "flood" + std::to_string(i), kStart);
  EXPECT_FALSE(take(store, rule, "victim", kStart).allowed());
  EXPECT_EQ(store.keys(), 1000u);
  EXPECT_EQ(store.evictions(), 100'001u - 1000u);
}

TEST(MemorySlots, EvictTheFullestAmongBucketsAndWindowsAlike) {
  MemoryStore store(MemoryOptions{500});
  const auto rule = bucket(1, 5);
  const auto window = rule_of(SlidingCounter{100, seconds(60)});
  warm_up(store, rule);
  for (int i = 0; i < 250; ++i) {
    take(store, rule, "bucket" + std::to_string(i), kStart, 5);
    take(store, window, "window" + std::to_string(i), kStart, 1);
  }
  for (int i = 0; i < 200; ++i) take(store, rule, "new" + std::to_string(i), kStart, 5);
  for (int i = 0; i < 250; ++i) {
    EXPECT_FALSE(take(store, rule, "bucket" + std::to_string(i), kStart).allowed());
  }
}

TEST(MemorySlots, ReuseTheRoomOfKeysThatAreFreshAgain) {
  MemoryStore store(MemoryOptions{1000});
  const auto rule = bucket(1, 5);
  warm_up(store, rule);
  for (int i = 0; i < 900; ++i) take(store, rule, "early" + std::to_string(i), kStart);
  const Instant later = kStart + seconds(1);
  for (int i = 0; i < 1000; ++i) take(store, rule, "late" + std::to_string(i), later);
  EXPECT_EQ(store.evictions(), 0u);
  EXPECT_EQ(store.sweep(later + seconds(1)), 1000u);
  EXPECT_EQ(store.keys(), 0u);
  EXPECT_EQ(store.keys_in_slots(), 0u);
}

// Keys that are asked ten times a second and are fresh after a millisecond: each stays, while
// others come, and nobody needs the lock to make it anew.
TEST(MemorySlots, KeepAKeyThatIsFreshForAWhile) {
  MemoryStore store(MemoryOptions{100'000});
  const auto rule = bucket(1000, 1000);
  warm_up(store, rule);
  for (int round = 0; round < 3; ++round) {
    const Instant now = kStart + milliseconds(100 * round);
    for (int i = 0; i < 10'000; ++i) take(store, rule, std::to_string(i), now);
    EXPECT_EQ(store.keys(), 10'000u);
    EXPECT_GT(store.keys_in_slots(), 9'900u);
  }
  take(store, rule, "another", kStart + seconds(3));
  EXPECT_LT(store.keys(), 10'000u) << "those that had been fresh for longer began to go";
}

TEST(MemorySlots, ConvertAKeyToNewNumbersAtItsFirstUseButNotAtAPeek) {
  MemoryStore store;
  const auto before = bucket(1, 10);
  const auto after = bucket(1, 20);
  warm_up(store, before);
  warm_up(store, after);
  take(store, before, "a", kStart, 10);
  EXPECT_EQ(take(store, after, "a", kStart, 0).remaining, 0u);
  EXPECT_EQ(take(store, before, "a", kStart, 1).retry_after, seconds(1));
  EXPECT_EQ(take(store, after, "a", kStart, 1).retry_after, seconds(1));
  EXPECT_EQ(take(store, after, "a", kStart + seconds(20), 0).remaining, 20u);
  EXPECT_EQ(store.keys(), 1u);
}

TEST(MemorySlots, GiveWayToAnotherAlgorithmAndTakeTheKeyBack) {
  MemoryStore store;
  const auto rule = bucket(1, 5);
  const auto window = rule_of(SlidingCounter{5, seconds(60)});
  warm_up(store, rule);
  take(store, rule, "a", kStart, 5);
  EXPECT_EQ(take(store, window, "a", kStart).remaining, 4u);
  EXPECT_EQ(store.keys_in_slots(), 0u);
  EXPECT_EQ(take(store, rule, "a", kStart).remaining, 4u);
  EXPECT_EQ(store.keys_in_slots(), 1u);
  EXPECT_EQ(store.keys(), 1u);
}

TEST(MemorySlots, RefundAndResetFreeTheSlot) {
  MemoryStore store;
  const auto rule = bucket(1, 5);
  warm_up(store, rule);
  take(store, rule, "a", kStart, 3);
  const Charge two{&rule, "limit", "a", 2};
  store.refund({&two, 1}, kStart);
  EXPECT_EQ(take(store, rule, "a", kStart, 0).remaining, 4u);
  store.refund({&two, 1}, kStart);
  EXPECT_EQ(store.keys(), 0u);
  take(store, rule, "a", kStart, 5);
  store.reset({&two, 1}, nullptr);
  EXPECT_EQ(store.keys(), 0u);
  EXPECT_EQ(take(store, rule, "a", kStart).remaining, 4u);
}

TEST(MemorySlots, LeaveTheReachOfOneWordWithoutAChangeOfAnswer) {
  MemoryStore store;
  // 53 ticks a nanosecond: 2^62 ticks are reached in less than 3 years.
  const auto rule = rule_of(TokenBucket{Rate{53, Duration(1'000'000'007)}, 5});
  warm_up(store, rule);
  std::optional<limit::State> state;
  Instant now = kStart;
  for (int i = 0; i < 400; ++i) {
    const auto right = rule.decide(state ? &*state : nullptr, 1, now);
    ASSERT_EQ(take(store, rule, "a", now), right.verdict) << i;
    if (right.write) state = right.next;
    now = now + (i % 4 == 3 ? Duration(std::chrono::hours(24 * 40)) : Duration(milliseconds(7)));
  }
  EXPECT_EQ(store.keys_in_slots(), 0u);
}

TEST(MemorySlots, AreTouchedStepByStepAsByACharge) {
  MemoryStore stepwise;
  MemoryStore apart;
  const auto rule = bucket(1, 3);
  const auto quick = *MemoryStore::QuickRule::of(rule);
  const KeyedHash::Name name = stepwise.hashed("limit");
  std::mt19937 random(3);
  int touched = 0;
  for (int call = 0; call < 10'000; ++call) {
    const Instant now = kStart + milliseconds(2 * call);
    const std::string key = std::to_string(random() % 60);
    const Charge charge{&rule, "limit", key, random() % 3};
    Answer right;
    apart.charge_now({&charge, 1}, now, {&right, 1});
    const MemoryStore::Spot spot = stepwise.locate(name, key);
    const auto step = [&] {
      const MemoryStore::Visit visit(stepwise, now);
      return stepwise.touch(visit, spot, quick, stepwise.place_of(quick), charge.cost);
    }();
    if (step.made()) {
      ++touched;
      ASSERT_EQ(quick.bucket.verdict(step.step(), charge.cost), right.verdict);
      ASSERT_EQ(stepwise.now(), now);
      continue;
    }
    Answer answer;
    stepwise.charge_under_lock({&charge, 1}, now, {&answer, 1});
    ASSERT_EQ(answer.verdict, right.verdict);
  }
  EXPECT_GT(touched, 1000);
}

TEST(MemorySlotThreads, AdmitExactlyTheBurstOfOneKey) {
  MemoryStore store;
  const auto rule = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 20'000});
  warm_up(store, rule);
  std::atomic<int> admitted{0};
  on_threads(4, [&](int) {
    for (int i = 0; i < 10'000; ++i) admitted += take(store, rule, "hot", kStart).allowed() ? 1 : 0;
  });
  EXPECT_EQ(admitted, 20'000);
}

// Two threads that bring one new key at once, while others become fresh around it, give it one
// burst; the race of a table that inserts without a lock.
TEST(MemorySlotThreads, GiveANewKeyOneBurstWhileItsNeighboursComeAndGo) {
  constexpr int kRounds = 500;
  MemoryStore store(MemoryOptions{64});
  const auto rule = rule_of(TokenBucket{Rate{1, milliseconds(1)}, 3});
  warm_up(store, rule);
  std::vector<std::atomic<int>> admitted(kRounds);
  std::atomic<int> round{0};
  std::atomic<int> arrived{0};
  on_threads(2, [&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      arrived.fetch_add(1);
      while (arrived.load() < 2 * (i + 1)) std::this_thread::yield();
      const Instant now = kStart + milliseconds(2 * i);
      take(store, rule, "noise" + std::to_string(i * 2 + t), now);
      const std::string key = "new" + std::to_string(i);
      for (int n = 0; n < 3; ++n) admitted[std::size_t(i)] += take(store, rule, key, now).allowed();
    }
  });
  // The other thread may be one round ahead: two milliseconds bring two tokens more.
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_GE(admitted[std::size_t(i)], 3);
    EXPECT_LE(admitted[std::size_t(i)], 5);
  }
}

// A request of two counters holds both; a caller of one of them sees all of it or nothing.
TEST(MemorySlotThreads, ChargeBothLimitsOfARequestOrNeitherBesideCallersOfOne) {
  MemoryStore store;
  const auto narrow = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 3000});
  const auto broad = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 5000});
  warm_up(store, narrow);
  warm_up(store, broad);
  std::atomic<int> both{0};
  std::atomic<int> alone{0};
  on_threads(4, [&](int t) {
    for (int i = 0; i < 2500; ++i) {
      if (t % 2 == 0) {
        const Charge charges[] = {{&broad, "limit", "broad"}, {&narrow, "limit", "narrow"}};
        Answer answers[2];
        both += store.charge_now(charges, kStart, answers) ? 1 : 0;
      } else {
        alone += take(store, broad, "broad", kStart).allowed() ? 1 : 0;
      }
    }
  });
  EXPECT_LE(both, 3000);
  EXPECT_EQ(both + alone, 5000);
  EXPECT_EQ(take(store, broad, "broad", kStart, 0).remaining, 0u);
  EXPECT_EQ(take(store, narrow, "narrow", kStart, 0).remaining, std::uint64_t(3000 - both));
}

TEST(MemorySlotThreads, LoseNoCallWhileTheTableGrowsAndIsSwept) {
  MemoryStore store(MemoryOptions{20'000});
  const auto rule = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 1000});
  warm_up(store, rule);
  std::atomic<int> admitted{0};
  on_threads(4, [&](int t) {
    for (int i = 0; i < 4000; ++i) {
      if (t == 0) {
        take(store, rule, "other" + std::to_string(i), kStart);
        if (i % 500 == 0) store.sweep(kStart);
      } else {
        const std::string key = "hot" + std::to_string(i % 7);
        admitted += take(store, rule, key, kStart).allowed() ? 1 : 0;
      }
    }
  });
  EXPECT_EQ(admitted, 7 * 1000);
}

TEST(MemorySlotThreads, ConvertAndRefundBesideCallersWithoutALock) {
  MemoryStore store;
  const auto one = rule_of(TokenBucket{Rate{1, std::chrono::hours(24)}, 4000});
  const auto other = rule_of(TokenBucket{Rate{1, std::chrono::hours(12)}, 4000});
  warm_up(store, one);
  warm_up(store, other);
  std::atomic<int> balance{0};
  on_threads(4, [&](int t) {
    for (int i = 0; i < 3000; ++i) {
      const limit::Rule& rule = (i / 100) % 2 == 0 ? one : other;
      if (!take(store, rule, "hot", kStart).allowed()) continue;
      ++balance;
      if (i % 2 != t % 2) continue;
      const Charge charge{&rule, "limit", "hot"};
      store.refund({&charge, 1}, kStart);
      --balance;
    }
  });
  EXPECT_EQ(balance, 4000 - static_cast<int>(take(store, one, "hot", kStart, 0).remaining));
}

}  // namespace
}  // namespace weir::store
