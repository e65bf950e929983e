#include <gtest/gtest.h>

#include "weir/keyed_limiter.h"

namespace weir {
namespace {

using std::chrono::seconds;

const TokenBucket kFive{{1, seconds(1)}, 5};

KeyedLimiter make(const Numbers& numbers) {
  auto limiter = KeyedLimiter::make("test", numbers, {.max_keys = 1000});
  EXPECT_TRUE(limiter.has_value());
  return *std::move(limiter);
}

TEST(Together, ChargesAllOrNone) {
  const Store store = Store::memory();
  KeyedLimiter global = *KeyedLimiter::make("global", {TokenBucket{{1, seconds(1)}, 100}}, store);
  KeyedLimiter per_ip = *KeyedLimiter::make("ip", {TokenBucket{{1, seconds(1)}, 1}}, store);
  int allowed = 0;
  for (int i = 0; i < 100; ++i) {
    const Together::Part parts[] = {{&global, ""}, {&per_ip, "10.0.0.1"}};
    const auto answer = Together::check(parts, at_ns(0));
    ASSERT_TRUE(answer);
    allowed += answer->verdict.allowed();
    EXPECT_EQ(answer->named, 1u) << "the smaller share, then the longer wait";
  }
  EXPECT_EQ(allowed, 1);
  EXPECT_EQ(global.peek("", at_ns(0)).remaining, 99u);
}

TEST(Together, HasTheCallerWaitForTheLongestOfTheDelays) {
  const Store store = Store::memory();
  KeyedLimiter slow = *KeyedLimiter::make("slow", {LeakyBucket{{1, seconds(1)}, 100}}, store);
  KeyedLimiter few = *KeyedLimiter::make("few", {TokenBucket{{1, seconds(3600)}, 3}}, store);
  const Together::Part parts[] = {{&slow, "k"}, {&few, "k"}};
  for (int i = 0; i < 3; ++i) {
    const auto answer = Together::check(parts, at_ns(0));
    EXPECT_EQ(answer->named, 1u);
    EXPECT_TRUE(answer->verdict.allowed());
    EXPECT_EQ(answer->verdict.delay, seconds(i));
  }
  const auto refused = Together::check(parts, at_ns(0));
  EXPECT_FALSE(refused->verdict.allowed());
  EXPECT_EQ(refused->verdict.delay, Duration(0));
}

TEST(Together, SaysWhatCannotBeChargedTogether) {
  KeyedLimiter one = make(kFive);
  KeyedLimiter other = make(kFive);
  const Together::Part stores[] = {{&one, "k"}, {&other, "k"}};
  EXPECT_FALSE(Together::check(stores, at_ns(0)).has_value());
  const Together::Part twice[] = {{&one, "k"}, {&one, "k"}};
  EXPECT_FALSE(Together::check(twice, at_ns(0)).has_value());
  EXPECT_FALSE(Together::check({}, at_ns(0)).has_value());
}

TEST(Together, NamesTheLongestWaitOrNeverAlsoWhereKeysAreBlocked) {
  const Store store = Store::memory();
  KeyedLimiter first = *KeyedLimiter::make("first", {kFive}, store);
  KeyedLimiter second = *KeyedLimiter::make("second", {kFive}, store);
  ASSERT_TRUE(first.block("k", seconds(1), at_ns(0)));
  const Together::Part never[] = {{&first, "k"}, {&second, "k", 6}};
  EXPECT_EQ(Together::check(never, at_ns(0))->verdict.outcome, Outcome::kNever);
  EXPECT_EQ(Together::check(never, at_ns(0))->named, 1u);
  ASSERT_TRUE(second.block("k", seconds(60), at_ns(0)));
  const Together::Part both[] = {{&first, "k"}, {&second, "k"}};
  const auto answer = Together::check(both, at_ns(0));
  EXPECT_EQ(answer->verdict.retry_after, seconds(60));
  EXPECT_EQ(answer->named, 1u);
  EXPECT_EQ(first.peek("k", at_ns(0)).remaining, 5u);
}

}  // namespace
}  // namespace weir
