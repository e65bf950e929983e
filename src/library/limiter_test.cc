#include "weir/limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "library/test_limiter.h"
#include "limit/rule.h"
#include "store/memory/high_water.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Limiter, AllowsABurstAndThenDeniesWithTheExactWait) {
  Limiter limiter = bucket(10, seconds(1), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.allow(1, at_ns(0)));
  const Verdict denied = limiter.check(1, at_ns(0));
  EXPECT_EQ(denied.outcome, Outcome::kDenied);
  EXPECT_EQ(denied.retry_after, milliseconds(100));
  EXPECT_FALSE(limiter.allow(1, at_ns(100 * kMs - 1)));
  EXPECT_TRUE(limiter.allow(1, at_ns(100 * kMs)));
}

TEST(Limiter, CountsALateSampleAsTheLatestOne) {
  Limiter limiter = bucket(1000, seconds(1), 2);
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += limiter.allow(1, at_ns(i % 2 == 0 ? 10 * kMs : 0));
  EXPECT_EQ(allowed, 2);
}

TEST(Limiter, SaysNeverToACostAboveTheBurst) {
  Limiter limiter = bucket(1, seconds(1), 2);
  EXPECT_EQ(limiter.check(3, at_ns(0)).outcome, Outcome::kNever);
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 2u);
  EXPECT_EQ(limiter.check(0, at_ns(0)).outcome, Outcome::kAllowed);
}

TEST(Limiter, TakesAtMostWhatIsThere) {
  Limiter limiter = bucket(1, seconds(1), 2);
  EXPECT_EQ(limiter.allow_at_most(5, at_ns(0)).taken, 2u);
  const Portion none = limiter.allow_at_most(5, at_ns(0));
  EXPECT_EQ(none.taken, 0u);
  EXPECT_EQ(none.verdict.retry_after, seconds(1));
}

TEST(Limiter, TakesAtMostWhatTheSetOfNumbersThatHoldsTheLeastHas) {
  Limiter limiter = *Limiter::make({FixedWindow{100, seconds(86'400)}, FixedWindow{5, seconds(1)}});
  for (int second = 0; second < 18; ++second) {
    ASSERT_TRUE(limiter.allow(5, at_ns(second * 1000 * kMs)));
  }
  EXPECT_EQ(limiter.allow_at_most(10, at_ns(18'000 * kMs)).taken, 5u);
  EXPECT_EQ(limiter.allow_at_most(10, at_ns(19'000 * kMs)).taken, 5u);
  EXPECT_EQ(limiter.allow_at_most(10, at_ns(20'000 * kMs)).verdict.outcome, Outcome::kDenied);
}

TEST(Limiter, RefundsNeverAboveFull) {
  Limiter limiter = bucket(1, seconds(1), 3);
  ASSERT_TRUE(limiter.allow(2, at_ns(0)));
  limiter.refund(1000, at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 3u);
}

TEST(Limiter, RefundsAWindowInWhichTheCallWasNotChargedNothing) {
  Limiter limiter = make(SlidingCounter{5, seconds(1)});
  Ticket ticket = limiter.reserve(1, Duration(0), at_ns(900 * kMs));
  ASSERT_TRUE(ticket.granted());
  ASSERT_TRUE(limiter.allow(1, at_ns(3'100 * kMs)));
  ticket.cancel(at_ns(3'200 * kMs));
  EXPECT_EQ(limiter.peek(at_ns(3'200 * kMs)).remaining, 4u);
}

struct InheritCase {
  Inherit inherit;
  std::uint64_t raised;
  std::uint64_t lowered;
};

TEST(Limiter, InheritsWhatIsLeftAsAsked) {
  const InheritCase cases[] = {{Inherit::kAsIs, 40, 20},
                               {Inherit::kReset, 200, 20},
                               {Inherit::kProportional, 80, 8},
                               {Inherit::kAdditive, 140, 20}};
  for (const auto& [inherit, raised, lowered] : cases) {
    for (const std::uint64_t burst : {200, 20}) {
      Limiter limiter = bucket(1, seconds(1), 100);
      ASSERT_TRUE(limiter.allow(60, at_ns(0)));
      ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, burst}, inherit, at_ns(0)));
      EXPECT_EQ(limiter.peek(at_ns(0)).remaining, burst == 200 ? raised : lowered)
          << int(inherit) << " to " << burst;
    }
  }
}

TEST(Limiter, KeepsWhatIsUsedInAWindowThroughAnUpdate) {
  Limiter limiter = make(SlidingCounter{100, seconds(60)});
  ASSERT_TRUE(limiter.allow(60, at_ns(0)));
  ASSERT_TRUE(limiter.update(SlidingCounter{200, seconds(60)}, Inherit::kAsIs, at_ns(0)));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 140u);
  ASSERT_TRUE(limiter.update(SlidingCounter{100, seconds(60)}, Inherit::kProportional, at_ns(0)));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 70u);
}

TEST(Limiter, RefusesNumbersThatCannotBeHeldAndKeepsTheOld) {
  Limiter limiter = bucket(1, seconds(1), 2);
  EXPECT_FALSE(limiter.update(TokenBucket{{1, seconds(1)}, 1ULL << 62}).has_value());
  EXPECT_EQ(limiter.peek(at_ns(0)).quota, 2u);
  EXPECT_FALSE(Limiter::make(std::vector<Numbers>{}).has_value());
}

TEST(Limiter, ChargesSeveralSetsOfNumbersTogetherOrNotAtAll) {
  auto limiter =
      Limiter::make({TokenBucket{{100, seconds(1)}, 100}, TokenBucket{{1, seconds(1)}, 1}});
  ASSERT_TRUE(limiter);
  EXPECT_TRUE(limiter->allow(1, at_ns(0)));
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(limiter->allow(1, at_ns(0)));
  const std::vector<Numbers> twice(2, TokenBucket{{100, seconds(1)}, 100});
  ASSERT_TRUE(limiter->update(twice, Inherit::kAsIs, at_ns(0)));
  EXPECT_EQ(limiter->peek(at_ns(0)).remaining, 0u) << "the second set has none left";
  limiter->refund(1, at_ns(0));
  EXPECT_EQ(limiter->peek(at_ns(0)).remaining, 1u);
}

TEST(Limiter, FillsAgainAfterAnyIdleTime) {
  Limiter limiter = bucket(1'000'000, seconds(1), 1000);
  ASSERT_TRUE(limiter.allow(1000, at_ns(0)));
  EXPECT_EQ(limiter.check(1, at_ns(12 * 3600 * kSecond)).remaining, 999u);
  EXPECT_EQ(limiter.check(1, at_ns(90LL * 365 * 86400 * kSecond)).remaining, 999u);
}

TEST(Limiter, NeverRefillsAtRateZeroAndDeniesAllAtBurstZero) {
  Limiter frozen = bucket(0, seconds(1), 1);
  EXPECT_TRUE(frozen.allow(1, at_ns(0)));
  EXPECT_EQ(frozen.check(1, at_ns(1'000'000 * kSecond)).outcome, Outcome::kNever);
  EXPECT_EQ(frozen.reserve(1, Duration::max(), at_ns(0)).verdict().outcome, Outcome::kNever);
  Limiter shut = bucket(10, seconds(1), 0);
  EXPECT_EQ(shut.check(1, at_ns(0)).outcome, Outcome::kNever);
  Limiter open = make(Unlimited{});
  EXPECT_TRUE(open.allow(1'000'000, at_ns(0)));
}

TEST(Limiter, KeepsAFractionalRateExactly) {
  Limiter limiter = bucket(1, seconds(20), 1);
  EXPECT_TRUE(limiter.allow(1, at_ns(0)));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(20));
  EXPECT_FALSE(limiter.allow(1, at_ns(20 * kSecond - 1)));
  EXPECT_TRUE(limiter.allow(1, at_ns(20 * kSecond)));
}

TEST(Limiter, RefillsSmoothlyAtAThirdOfASecond) {
  Limiter limiter = bucket(3, seconds(1), 3);
  std::string seen;
  for (int i = 0; i <= 30; ++i) seen += limiter.allow(1, at_ns(i * 100 * kMs)) ? 'A' : 'D';
  EXPECT_EQ(seen, "AAADADDADDADDDADDADDADDDADDADDA");
}

TEST(Limiter, DriftsByNothingInABillionSeconds) {
  Limiter limiter = bucket(3, seconds(1), 1);
  ASSERT_TRUE(limiter.allow(1, at_ns(0)));
  constexpr std::int64_t kLater = 1'000'000'000 * kSecond;
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(limiter.allow(1, at_ns(kLater + i * kSecond)));
    const auto wait = limiter.check(1, at_ns(kLater + i * kSecond)).retry_after;
    EXPECT_EQ(wait, Duration(333'333'334));
  }
}

// The same numbers, calls and instants through the library and through the rule itself.
class Twin {
 public:
  explicit Twin(const Numbers& numbers)
      : limiter_(make(numbers)), rule_(*limit::Rule::make(numbers)) {}

  void call(std::uint64_t cost, Instant now) {
    time_.raise(now);
    const limit::Step step = rule_.decide(state_ ? &*state_ : nullptr, cost, time_.now());
    if (step.write) state_ = step.next;
    ASSERT_EQ(limiter_.check(cost, now), step.verdict) << cost << " at " << now.steady_ns;
  }
  void refund(std::uint64_t cost, Instant now) {
    time_.raise(now);
    limiter_.refund(cost, now);
    if (state_) state_ = rule_.refund(*state_, cost, time_.now(), std::nullopt);
  }
  void update(const Numbers& numbers, Instant now) {
    time_.raise(now);
    const limit::Rule next = *limit::Rule::make(numbers);
    if (state_) state_ = next.adopt(rule_, *state_, time_.now());
    rule_ = next;
    ASSERT_TRUE(limiter_.update(numbers, Inherit::kAsIs, now));
  }

 private:
  Limiter limiter_;
  limit::Rule rule_;
  std::optional<limit::State> state_;
  store::HighWater time_;
};

TokenBucket random_bucket(std::mt19937_64& random) {
  const std::uint64_t counts[] = {0, 1, 3, 7, 1000, 12345, 999'999'937, 1'000'000'000};
  const std::int64_t periods[] = {1, 7, 1000, kSecond, 60 * kSecond, 30LL * 86400 * kSecond};
  const std::uint64_t bursts[] = {0, 1, 2, 5, 1000, 1ULL << 20, 1ULL << 40};
  for (;;) {
    const TokenBucket bucket{{counts[random() % 8], Duration(periods[random() % 6])},
                             bursts[random() % 7]};
    if (limit::Rule::make(bucket)) return bucket;
  }
}

TEST(Limiter, AnswersAsTheRuleDoesAtEveryRate) {
  const std::uint64_t seed = 20261130;
  std::mt19937_64 random(seed);
  for (int trace = 0; trace < 300; ++trace) {
    const TokenBucket first = random_bucket(random);
    Twin twin{first};
    std::uint64_t burst = first.burst;
    std::int64_t now = 1'700'000'000 * kSecond;
    const std::int64_t scale = std::int64_t{1} << random() % 50;
    for (int i = 0; i < 100; ++i) {
      now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scale));
      const Instant at = at_ns(random() % 8 == 0 ? now - 1000 : now);
      const std::uint64_t cost = random() % 3 == 0 ? random() % (burst + 2) : random() % 3;
      if (random() % 16 == 0) {
        twin.refund(cost, at);
      } else if (random() % 40 == 0) {
        const TokenBucket next = random_bucket(random);
        burst = next.burst;
        twin.update(next, at);
      } else {
        twin.call(cost, at);
      }
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", trace " << trace;
    }
  }
}

TEST(Limiter, GivesNoTokenTwiceToManyThreads) {
  Limiter limiter = bucket(1, seconds(60), 10'000);
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) allowed += limiter.allow(1, at_ns(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed.load(), 10'000);
}

// One thread takes by itself for a while, without a lock or a swap, and then others join it.
TEST(Limiter, GivesNoTokenTwiceToThreadsThatComeOneAfterTheOther) {
  for (int round = 0; round < 60; ++round) {
    constexpr int kTokens = 3'000;
    Limiter limiter = bucket(0, seconds(1), kTokens);
    std::atomic<int> allowed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      const int before = allowed.load();
      threads.emplace_back([&] {
        while (limiter.allow(1, at_ns(0))) allowed.fetch_add(1, std::memory_order_relaxed);
      });
      while (allowed.load() < std::min(before + 1 + round, kTokens)) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(allowed.load(), kTokens) << "round " << round;
  }
}

TEST(Limiter, NeverDeniesWhatIsThereHoweverManyCompete) {
  Limiter limiter = bucket(1, seconds(60), 16'000);
  std::atomic<int> denied{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) denied += !limiter.allow(1, at_ns(0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(denied.load(), 0);
  EXPECT_FALSE(limiter.allow(1, at_ns(0)));
}

// The cell is opened 256 times at one instant and more: no taker may act on old numbers.
TEST(Limiter, KeepsCountWhileItsNumbersChangeUnderItsCallers) {
  Limiter limiter = bucket(1, seconds(60), 40'000);
  ASSERT_TRUE(limiter.allow(1, at_ns(0)));  // what is left stays left; a full bucket stays full
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) allowed += limiter.allow(1, at_ns(0));
    });
  }
  for (int i = 0; i < 1'000; ++i) {
    const Rate rate{1, seconds(60 + i % 2)};
    ASSERT_TRUE(limiter.update(TokenBucket{rate, 40'000 + static_cast<std::uint64_t>(i % 2)},
                               Inherit::kAsIs, at_ns(0)));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed.load(), 15'000);
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 24'999u);
}

}  // namespace
}  // namespace weir
