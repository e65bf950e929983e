#include "store/redis/deny_cache.h"

#include <gtest/gtest.h>

namespace weir::store::redis {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kServerUs = 1'767'225'600'000'000;  // the server's time of every view

std::shared_ptr<const CounterRule> rule_of(const Numbers& numbers) {
  auto made = CounterRule::make(*limit::Rule::make(numbers));
  EXPECT_TRUE(made.has_value());
  return std::make_shared<const CounterRule>(std::move(*made));
}

class DenyCacheTest : public testing::Test {
 protected:
  // A call at `ms` on the steady clock, asked now.
  DenyCache::Call call(std::uint64_t cost, int ms) const {
    return {cache_.ask(name_), rule_, cost, Duration(milliseconds(ms)).count()};
  }

  DenyCache cache_{seconds(1)};
  std::string name_ = "weir:{0123456789abcdef}login:tb/2:ip,1:x,";
  // One token an hour; a drained bucket lacks five hours.
  std::shared_ptr<const CounterRule> rule_ = rule_of(TokenBucket{{1, hours(1)}, 5});
  const CounterRule::View drained_{{5 * 3'600'000'000, 0, 0, 0}};
  const CounterRule::View fresh_{};
};

TEST_F(DenyCacheTest, RefusesTheSameCostAndLargerOnesUntilItsTimeIsOver) {
  cache_.remember(call(2, 0), true, drained_, kServerUs);
  EXPECT_EQ(cache_.find(call(2, 10))->retry_after, hours(2) - milliseconds(10));
  EXPECT_EQ(cache_.find(call(3, 10))->retry_after, hours(3) - milliseconds(10));
  EXPECT_FALSE(cache_.find(call(1, 10)).has_value()) << "a smaller one may be admitted";
  EXPECT_FALSE(cache_.find(call(0, 10)).has_value()) << "a peek";
  EXPECT_FALSE(cache_.find(call(6, 10)).has_value()) << "never is no wait";
  EXPECT_TRUE(cache_.find(call(2, 999)).has_value());
  EXPECT_FALSE(cache_.find(call(2, 1000)).has_value());
}

TEST_F(DenyCacheTest, DropsARefusalThatWasOnItsWayWhenItsCounterWasGivenSomethingBack) {
  const DenyCache::Call asked = call(1, 0);
  cache_.forget(name_);  // by whichever loop of this instance
  cache_.remember(asked, true, drained_, kServerUs);
  EXPECT_FALSE(cache_.find(call(1, 1)).has_value());
  cache_.remember(call(1, 2), true, drained_, kServerUs);
  EXPECT_TRUE(cache_.find(call(1, 3)).has_value());
  cache_.forget(name_);
  EXPECT_FALSE(cache_.find(call(1, 4)).has_value());
}

TEST_F(DenyCacheTest, RefusesNoMoreByWhatItSawBeforeACallWasAdmitted) {
  const DenyCache::Call asked = call(2, 0);
  cache_.remember(asked, true, drained_, kServerUs);
  cache_.charged(call(1, 10), kServerUs + 10'000);
  EXPECT_FALSE(cache_.find(call(2, 11)).has_value()) << "it has longer to wait now";
  EXPECT_TRUE(cache_.last_seen(call(2, 11)).has_value()) << "how it stood then is known";
  cache_.remember(asked, true, drained_, kServerUs);  // it was on its way, to another loop
  EXPECT_FALSE(cache_.find(call(2, 12)).has_value());
  cache_.remember(asked, true, drained_, kServerUs + 10'000);  // asked before, decided after
  EXPECT_TRUE(cache_.find(call(2, 14)).has_value());
  cache_.charged(call(0, 15), kServerUs + 15'000);
  EXPECT_TRUE(cache_.find(call(2, 16)).has_value()) << "a peek takes nothing";
}

TEST_F(DenyCacheTest, DropsWhatAPolicyThatIsNoLongerInForceRefused) {
  cache_.remember(call(1, 0), true, drained_, kServerUs);
  rule_ = rule_of(TokenBucket{{1, hours(1)}, 5});  // the same numbers, loaded again
  EXPECT_FALSE(cache_.find(call(1, 1)).has_value());
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(DenyCacheTest, SaysHowALimitStoodThatAnotherOneRefusedFor) {
  EXPECT_FALSE(cache_.last_seen(call(1, 0)).has_value());
  const CounterRule::View used{{2 * 3'600'000'000, 0, 0, 0}};
  cache_.remember(call(1, 0), false, used, kServerUs);
  const auto seen = cache_.last_seen(call(2, 10));
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->allowed());
  EXPECT_EQ(seen->remaining, 3u) << "uncharged";
  EXPECT_EQ(cache_.last_seen(call(4, 10))->outcome, Outcome::kDenied);
  EXPECT_FALSE(cache_.find(call(4, 10)).has_value()) << "it has refused nobody";
  EXPECT_FALSE(cache_.last_seen(call(1, 1000)).has_value());
}

TEST_F(DenyCacheTest, KeepsARefusalThatASmallerCallDoesNotContradict) {
  cache_.remember(call(3, 0), true, drained_, kServerUs);
  cache_.remember(call(1, 10), false, CounterRule::View{{4 * 3'600'000'000, 0, 0, 0}}, kServerUs);
  EXPECT_TRUE(cache_.find(call(3, 20)).has_value());
}

TEST_F(DenyCacheTest, TellsNothingOfALogOnceACallHasLeftIt) {
  rule_ = rule_of(SlidingLog{5, milliseconds(100)});
  // Two calls, the first made 60 ms before the view, the last 20 ms.
  const CounterRule::View two{{2, kServerUs - 60'000, 0, kServerUs - 20'000}};
  cache_.remember(call(1, 0), false, two, kServerUs);
  EXPECT_EQ(cache_.last_seen(call(1, 30))->remaining, 3u);
  EXPECT_FALSE(cache_.last_seen(call(2, 30)).has_value()) << "of another cost";
  EXPECT_FALSE(cache_.last_seen(call(1, 40)).has_value());
}

TEST_F(DenyCacheTest, NeverRemembersCallsInFlightNorHoldsMoreThanItsBound) {
  rule_ = rule_of(Concurrency{5, hours(1)});
  cache_.remember(call(1, 0), true, fresh_, kServerUs);
  EXPECT_EQ(cache_.size(), 0u);
  rule_ = rule_of(TokenBucket{{1, hours(1)}, 5});
  constexpr std::size_t kMax = DenyCache::kShards * DenyCache::kMaxPerShard;
  for (std::size_t i = 0; i < kMax + kMax / 4; ++i) {
    name_ = std::to_string(i);
    cache_.remember(call(1, 0), true, drained_, kServerUs);
  }
  EXPECT_LE(cache_.size(), kMax);
  EXPECT_TRUE(cache_.find(call(1, 1)).has_value()) << "the newest is there";
}

}  // namespace
}  // namespace weir::store::redis
