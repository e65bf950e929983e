#include "app/reload_changes.h"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

policy::Policy policy_with(const Numbers& numbers) {
  policy::Policy policy;
  policy.limits.emplace_back();
  policy.limits.back().name = "a";
  policy.limits.back().numbers = {numbers};
  return policy;
}

Names afresh(const Numbers& now, const Numbers& next) {
  return limits_that_start_afresh(policy_with(now), policy_with(next));
}

TEST(ReloadChanges, AnotherAlgorithmOrWindowStartsAfresh) {
  const TokenBucket bucket{Rate{1, seconds(1)}, 5};
  const SlidingCounter counter{5, seconds(60)};
  EXPECT_EQ(afresh(bucket, counter), Names{"a"});
  EXPECT_EQ(afresh(counter, SlidingCounter{5, seconds(61)}), Names{"a"});
  EXPECT_EQ(afresh(FixedWindow{5, Duration(seconds(1))}, FixedWindow{5, Calendar{}}), Names{"a"});
}

TEST(ReloadChanges, OtherAmountsDoNot) {
  EXPECT_EQ(afresh(TokenBucket{Rate{1, seconds(1)}, 5}, TokenBucket{Rate{9, seconds(2)}, 7}),
            Names{});
  EXPECT_EQ(afresh(SlidingCounter{5, seconds(60)}, SlidingCounter{9, seconds(60)}), Names{});
}

TEST(ReloadChanges, ATierThatStartsAfreshIsNamed) {
  policy::Policy now = policy_with(SlidingCounter{5, seconds(60)});
  policy::Policy next = now;
  now.limits[0].tiers["gold"] = {SlidingCounter{9, seconds(60)}};
  next.limits[0].tiers["gold"] = {SlidingCounter{9, seconds(30)}};
  next.limits[0].tiers["new"] = {SlidingCounter{9, seconds(30)}};
  EXPECT_EQ(limits_that_start_afresh(now, next), Names{"a tier gold"});
}

TEST(ReloadChanges, ASectionLeftOutKeepsItsListenerAsItWas) {
  policy::Policy now;
  now.api.emplace().token = "secret";
  now.gateway.emplace();
  now.resp.emplace().password = "sesame";
  policy::Policy next;
  keep_open_listeners(now, next);
  ASSERT_TRUE(next.api && next.gateway);
  EXPECT_EQ(next.api->token, "secret");
  ASSERT_TRUE(next.resp);
  EXPECT_EQ(next.resp->password, "sesame");
  EXPECT_FALSE(next.admin);
}

}  // namespace
}  // namespace weir::app
