#include "weir/keyed_limiter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000;
const TokenBucket kFive{{1, seconds(1)}, 5};

KeyedLimiter make(const Numbers& numbers, std::size_t max_keys = 1000) {
  auto limiter = KeyedLimiter::make("test", numbers, {.max_keys = max_keys});
  EXPECT_TRUE(limiter.has_value());
  return *std::move(limiter);
}

TEST(KeyedLimiter, CountsEachKeyApart) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 1});
  for (const std::string& key : {std::string("a"), std::string(""), std::string("a\0", 2),
                                 std::string("{a}"), std::string(1 << 20, 'a')}) {
    EXPECT_TRUE(limiter.allow(key, 1, at_ns(0)));
    EXPECT_FALSE(limiter.allow(key, 1, at_ns(0)));
  }
}

TEST(KeyedLimiter, KeepsTheKeysOfTwoLimitersOnOneStoreApart) {
  const Store store = Store::memory();
  auto first = KeyedLimiter::make("a", {TokenBucket{{1, seconds(1)}, 1}}, store);
  auto second = KeyedLimiter::make("b", {TokenBucket{{1, seconds(3600)}, 1}}, store);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(KeyedLimiter::make("a", {kFive}, store).has_value());
  EXPECT_TRUE(first->allow("k", 1, at_ns(0)));
  EXPECT_TRUE(second->allow("k", 1, at_ns(0)));
  EXPECT_TRUE(first->allow("k", 1, at_ns(kSecond)));
  EXPECT_FALSE(second->allow("k", 1, at_ns(kSecond)));
}

TEST(KeyedLimiter, DecidesByOtherNumbersWhereTheCallerKnowsBetter) {
  KeyedLimiter limiter = make(kFive);
  const Override premium = *Override::make(TokenBucket{{10, seconds(1)}, 50});
  EXPECT_EQ(limiter.check("k", premium, 1, at_ns(0)).remaining, 49u);
  EXPECT_EQ(limiter.check("k", premium, 40, at_ns(0)).remaining, 9u);
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).remaining, 4u) << "what is left stays left, clamped";
  EXPECT_FALSE(Override::make(TokenBucket{{1, seconds(1)}, 1ULL << 62}).has_value());
}

TEST(KeyedLimiter, DecidesABatchInOrderAndEachCallOnItsOwn) {
  KeyedLimiter limiter = make(kFive);
  const std::array<KeyedCall, 4> calls = {{{"a", 4}, {"a", 4}, {"b", 5}, {"a", 1}}};
  std::array<Verdict, 4> verdicts;
  limiter.check_batch(calls, verdicts, at_ns(0));
  EXPECT_TRUE(verdicts[0].allowed());
  EXPECT_FALSE(verdicts[1].allowed());
  EXPECT_TRUE(verdicts[2].allowed());
  EXPECT_TRUE(verdicts[3].allowed());
}

TEST(KeyedLimiter, BlocksAKeyForAWhile) {
  KeyedLimiter limiter = make(kFive);
  ASSERT_TRUE(limiter.block("bad", seconds(10), at_ns(0)));
  EXPECT_EQ(limiter.check("bad", 1, at_ns(kSecond)).retry_after, seconds(9));
  EXPECT_TRUE(limiter.peek("bad", at_ns(kSecond)).allowed());
  EXPECT_TRUE(limiter.allow("good", 1, at_ns(kSecond)));
  EXPECT_FALSE(limiter.allow("bad", 1, at_ns(10 * kSecond - 1)));
  EXPECT_TRUE(limiter.allow("bad", 1, at_ns(10 * kSecond)));
  ASSERT_TRUE(limiter.block("bad", seconds(1'000'000'000), at_ns(10 * kSecond)));
  EXPECT_FALSE(limiter.allow("bad", 1, at_ns(11 * kSecond)));
  limiter.reset("bad");
  EXPECT_TRUE(limiter.allow("bad", 5, at_ns(11 * kSecond)));
}

TEST(KeyedLimiter, TellsABlockedKeyWhenACallOfItsCostIsAdmittedOrThatItNeverIs) {
  KeyedLimiter limiter = make(kFive);
  ASSERT_TRUE(limiter.allow("k", 5, at_ns(0)));
  ASSERT_TRUE(limiter.block("k", seconds(2), at_ns(0)));
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).retry_after, seconds(2)) << "as the block ends";
  EXPECT_EQ(limiter.check("k", 4, at_ns(0)).retry_after, seconds(4)) << "as the tokens are there";
  EXPECT_EQ(limiter.check("k", 6, at_ns(0)).outcome, Outcome::kNever);
  EXPECT_FALSE(limiter.allow("k", 4, at_ns(4 * kSecond - 1)));
  EXPECT_TRUE(limiter.allow("k", 4, at_ns(4 * kSecond)));
}

TEST(KeyedLimiter, CountsALateSampleAsTheLatestForBlocksToo) {
  KeyedLimiter limiter = make(kFive);
  ASSERT_TRUE(limiter.allow("other", 1, at_ns(200 * kSecond)));
  ASSERT_TRUE(limiter.block("k", seconds(5), at_ns(190 * kSecond)));
  EXPECT_EQ(limiter.check("k", 1, at_ns(200 * kSecond)).retry_after, seconds(5));
  EXPECT_EQ(limiter.check("k", 1, at_ns(190 * kSecond)).retry_after, seconds(5));
  ASSERT_TRUE(limiter.allow("other", 1, at_ns(205 * kSecond)));
  EXPECT_TRUE(limiter.allow("k", 1, at_ns(190 * kSecond)));
}

TEST(KeyedLimiter, KnowsTheWaitOfABlockThatOutlastsAllCallsInFlight) {
  KeyedLimiter limiter = make(Concurrency{1, seconds(60)});
  ASSERT_TRUE(limiter.allow("k", 1, at_ns(0)));
  ASSERT_TRUE(limiter.block("k", seconds(10), at_ns(0)));
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).retry_after, seconds(60));
  EXPECT_FALSE(limiter.check("k", 1, at_ns(0)).retry_known);
  ASSERT_TRUE(limiter.block("k", seconds(100), at_ns(0)));
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).retry_after, seconds(100));
  EXPECT_TRUE(limiter.check("k", 1, at_ns(0)).retry_known);
}

TEST(KeyedLimiter, RefusesToBlockMoreKeysThanItHolds) {
  KeyedLimiter limiter = make(kFive);
  for (int i = 0; i < 65'536; ++i) {
    ASSERT_TRUE(limiter.block(std::to_string(i), seconds(1), at_ns(0)));
  }
  EXPECT_EQ(limiter.block("one more", seconds(1), at_ns(0)).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(limiter.block("one more", seconds(1), at_ns(kSecond))) << "the others have ended";
}

TEST(KeyedLimiter, TakesAtMostWhatIsThere) {
  KeyedLimiter limiter = make(kFive);
  EXPECT_EQ(limiter.allow_at_most("k", 3, at_ns(0)).taken, 3u);
  EXPECT_EQ(limiter.allow_at_most("k", 3, at_ns(0)).taken, 2u);
  const Portion none = limiter.allow_at_most("k", 3, at_ns(0));
  EXPECT_EQ(none.taken, 0u);
  EXPECT_EQ(none.verdict.retry_after, seconds(1));
}

TEST(KeyedLimiter, TakesNothingOfABlockedKeyHoweverMuchItHolds) {
  KeyedLimiter limiter = make(TokenBucket{{1'000'000, seconds(1)}, 1ULL << 40});
  ASSERT_TRUE(limiter.block("k", seconds(10), at_ns(0)));
  const Portion none = limiter.allow_at_most("k", 1ULL << 40, at_ns(0));
  EXPECT_EQ(none.taken, 0u);
  EXPECT_EQ(none.verdict.retry_after, seconds(10));
}

TEST(KeyedLimiter, TakesAtMostWhatTheSetOfNumbersThatHoldsTheLeastHas) {
  const std::uint64_t many = 1 << 30;
  const Store store = Store::memory();
  KeyedLimiter limiter = *KeyedLimiter::make(
      "test", {FixedWindow{many, seconds(86'400)}, FixedWindow{5, seconds(1)}}, store);
  limiter.penalty("k", many - 100, at_ns(0));
  EXPECT_EQ(limiter.peek("k", at_ns(kSecond)).remaining, 100u) << "the least share of its limit";
  EXPECT_EQ(limiter.allow_at_most("k", many, at_ns(kSecond)).taken, 5u);
}

TEST(KeyedLimiter, SettlesACallInTheWindowThatWasCharged) {
  KeyedLimiter limiter = make(FixedWindow{5, Duration(seconds(1))});
  KeyedTicket ticket = limiter.take("k", 3, at_ns(kSecond - 1));
  ASSERT_TRUE(ticket.granted());
  ASSERT_TRUE(limiter.allow("k", 2, at_ns(kSecond)));
  ticket.settle(1, at_ns(kSecond));
  EXPECT_EQ(limiter.peek("k", at_ns(kSecond)).remaining, 3u) << "the new window is not touched";
  KeyedTicket dear = limiter.take("k", 1, at_ns(kSecond));
  dear.settle(100, at_ns(kSecond));
  EXPECT_EQ(limiter.peek("k", at_ns(kSecond)).remaining, 0u);
}

TEST(KeyedLimiter, OwesAPenaltyAndADearerCallBeyondWhatItHas) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 5});
  limiter.penalty("k", 8, at_ns(0));
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).retry_after, seconds(4));
  EXPECT_TRUE(limiter.allow("k", 1, at_ns(4 * kSecond)));
  KeyedTicket ticket = limiter.take("other", 1, at_ns(0));
  ticket.settle(7, at_ns(0));
  EXPECT_EQ(limiter.check("other", 1, at_ns(0)).retry_after, seconds(3));
  limiter.refund("other", 2, at_ns(0));
  EXPECT_EQ(limiter.check("other", 1, at_ns(0)).retry_after, seconds(1));
}

TEST(KeyedLimiter, GivesBackASlotOfConcurrencyByItsTicket) {
  KeyedLimiter limiter = make(Concurrency{1, seconds(60)});
  KeyedTicket ticket = limiter.take("k", 1, at_ns(0));
  EXPECT_FALSE(limiter.allow("k", 1, at_ns(1)));
  ticket.cancel(at_ns(2));
  EXPECT_TRUE(limiter.allow("k", 1, at_ns(3)));
  EXPECT_TRUE(limiter.allow("k", 1, at_ns(60 * kSecond + 3))) << "a lost holder's slot comes back";
}

TEST(KeyedLimiter, ConvertsEveryKeyWhenItsNumbersChange) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 10});
  ASSERT_TRUE(limiter.allow("k", 10, at_ns(0)));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 20}));
  EXPECT_FALSE(limiter.allow("k", 1, at_ns(0)));
  EXPECT_TRUE(limiter.allow("fresh", 20, at_ns(0)));
}

// Numbers of one algorithm that hold `quota`.
Numbers holding(Algorithm algorithm, std::uint64_t quota) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucket{{1, seconds(1)}, quota};
    case Algorithm::kLeakyBucket:
      return LeakyBucket{{1, seconds(1)}, quota - 1};
    case Algorithm::kFixedWindow:
      return FixedWindow{quota, seconds(60)};
    case Algorithm::kSlidingLog:
      return SlidingLog{quota, seconds(60)};
    case Algorithm::kSlidingCounter:
      return SlidingCounter{quota, seconds(60)};
    default:
      return Concurrency{quota, seconds(60)};
  }
}

constexpr Algorithm kCounting[] = {Algorithm::kTokenBucket,    Algorithm::kLeakyBucket,
                                   Algorithm::kFixedWindow,    Algorithm::kSlidingLog,
                                   Algorithm::kSlidingCounter, Algorithm::kConcurrency};

struct InheritCase {
  Inherit inherit;
  std::uint64_t raised;
  std::uint64_t lowered;
};

TEST(KeyedLimiter, TakesEveryKeyOverAsAsked) {
  const InheritCase cases[] = {
      {Inherit::kReset, 200, 20}, {Inherit::kProportional, 80, 8}, {Inherit::kAdditive, 140, 20}};
  for (const Algorithm algorithm : kCounting) {
    for (const auto& [inherit, raised, lowered] : cases) {
      for (const std::uint64_t quota : {200, 20}) {
        const std::string what = "algorithm " + std::to_string(int(algorithm)) + ", inherit " +
                                 std::to_string(int(inherit)) + ", to " + std::to_string(quota);
        KeyedLimiter limiter = make(holding(algorithm, 100));
        for (const char* key : {"looked at", "used", "refunded"}) {
          ASSERT_TRUE(limiter.allow(key, 60, at_ns(0))) << what;
        }
        ASSERT_TRUE(limiter.update(holding(algorithm, quota), inherit)) << what;
        const std::uint64_t left = quota == 200 ? raised : lowered;
        EXPECT_EQ(limiter.peek("looked at", at_ns(0)).remaining, left) << what;
        EXPECT_EQ(limiter.peek("looked at", at_ns(0)).remaining, left) << what << ", once";
        EXPECT_TRUE(limiter.allow("used", left, at_ns(0))) << what;
        EXPECT_FALSE(limiter.allow("used", 1, at_ns(0))) << what;
        limiter.penalty("refunded", 1, at_ns(0));
        EXPECT_EQ(limiter.peek("refunded", at_ns(0)).remaining, left - 1) << what;
        EXPECT_EQ(limiter.peek("fresh", at_ns(0)).remaining, quota) << what;
      }
    }
  }
}

TEST(KeyedLimiter, LeavesAFullKeyFullThroughAnUpdate) {
  for (const Inherit inherit :
       {Inherit::kAsIs, Inherit::kReset, Inherit::kProportional, Inherit::kAdditive}) {
    KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 10});
    ASSERT_TRUE(limiter.allow("k", 1, at_ns(0)));
    ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 30}, inherit));
    EXPECT_EQ(limiter.peek("k", at_ns(60 * kSecond)).remaining, 30u) << int(inherit);
  }
}

// Its numbers were never the limiter's: what a call of its own left is no share of anything.
TEST(KeyedLimiter, TakesAKeyOverAsItIsFromNumbersOfASingleCall) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 100});
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 50}, Inherit::kProportional));
  const Override other = *Override::make(TokenBucket{{1, seconds(1)}, 10});
  EXPECT_EQ(limiter.check("k", other, 6, at_ns(0)).remaining, 4u);
  EXPECT_EQ(limiter.check("k", 1, at_ns(0)).remaining, 3u);
}

TEST(KeyedLimiter, TakesAKeyThatWasNotUsedOverOnceAsTheLastUpdateSays) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 100});
  ASSERT_TRUE(limiter.allow("k", 60, at_ns(0)));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 300}, Inherit::kAdditive));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 200}, Inherit::kProportional));
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 80u);
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 100}, Inherit::kAsIs));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 200}, Inherit::kProportional));
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 80u) << "it was counted under these last";
}

TEST(KeyedLimiter, LeavesAKeyThatWasLastCountedUnderTheNumbersInForceAsItIs) {
  KeyedLimiter limiter = make(kFive);
  ASSERT_TRUE(limiter.allow("k", 5, at_ns(0)));
  ASSERT_TRUE(limiter.update(kFive, Inherit::kReset));
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 0u);
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 20}, Inherit::kReset));
  ASSERT_TRUE(limiter.update(kFive, Inherit::kReset));
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 0u) << "not used in between";
  limiter.reset("k");
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 5u);
}

TEST(KeyedLimiter, ForgetsWhatAKeyOwedAsItsNumbersChange) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(1)}, 10});
  limiter.penalty("k", 13, at_ns(0));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 20}, Inherit::kAdditive));
  EXPECT_EQ(limiter.peek("k", at_ns(0)).remaining, 10u);
}

TEST(KeyedLimiter, NeverAdmitsMoreThanTheLargestWhileItsNumbersChangeUnderCalls) {
  KeyedLimiter limiter = make(TokenBucket{{1, seconds(3600)}, 1000});
  std::atomic<std::uint64_t> admitted{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      while (!done) admitted += limiter.allow("k", 1, at_ns(0)) ? 1 : 0;
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t burst = i % 2 == 0 ? 500 : 1000;
    ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(3600)}, burst}, Inherit::kProportional));
  }
  while (limiter.peek("k", at_ns(0)).remaining > 0) std::this_thread::yield();
  done = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(admitted, 1000u);
}

TEST(KeyedLimiter, AdmitsExactlyTheLimitToManyThreads) {
  KeyedLimiter limiter = make(FixedWindow{100, Duration(seconds(60))});
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 125; ++i) allowed += limiter.allow("k", 1, at_ns(0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed.load(), 100);
}

TEST(KeyedLimiter, FindsWhatAStoreOfAnotherProcessHasSaved) {
  const std::string file = testing::TempDir() + "weir-keyed-" + std::to_string(getpid());
  {
    const Store store = Store::memory();
    KeyedLimiter limiter = *KeyedLimiter::make("k", {kFive}, store);
    EXPECT_TRUE(limiter.allow("a", 5, at_ns(0)));
    EXPECT_EQ(*store.save(file, at_ns(0)), 1u);
  }
  const auto store = Store::restored(file, {}, at_ns(1));
  ASSERT_TRUE(store);
  KeyedLimiter limiter = *KeyedLimiter::make("k", {kFive}, *store);
  EXPECT_FALSE(limiter.allow("a", 1, at_ns(1)));
  EXPECT_TRUE(limiter.allow("b", 1, at_ns(1)));
  std::filesystem::remove(file);
  EXPECT_EQ(Store::restored(file, {}, at_ns(1))->keys(), 0u);
}

TEST(KeyedLimiter, GivesTheSlotOfACallThatIsNeverReleasedBackAtItsTimeout) {
  KeyedLimiter limiter = make(Concurrency{2, seconds(30)});
  KeyedTicket first = limiter.take("a", 1, at_ns(0));
  EXPECT_TRUE(limiter.allow("a", 1, at_ns(0)));
  const Verdict full = limiter.check("a", 1, at_ns(0));
  EXPECT_EQ(full.outcome, Outcome::kDenied);
  EXPECT_FALSE(full.retry_known);
  first.cancel(at_ns(1));
  EXPECT_TRUE(limiter.allow("a", 1, at_ns(1)));
  first.cancel(at_ns(1));  // once
  const Instant timeout = at_ns(0) + seconds(30);
  EXPECT_FALSE(limiter.allow("a", 1, at_ns(timeout.steady_ns - 1)));
  EXPECT_TRUE(limiter.allow("a", 1, timeout));
}

TEST(KeyedLimiter, HoldsNoMoreKeysThanItMayAndForgetsTheIdle) {
  const Store store = Store::memory({.max_keys = 3});
  KeyedLimiter limiter = *KeyedLimiter::make("k", {kFive}, store);
  for (const char* key : {"", "a", "b", "c", "d", "e"}) limiter.allow(key, 1, at_ns(0));
  EXPECT_LE(store.keys(), 3u);
}

}  // namespace
}  // namespace weir
