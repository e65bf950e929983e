#include "weir/follower.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// 2026-01-01T00:00:00Z
constexpr Instant kNow = at_ns(1'767'225'600'000'000'000);

Follower told(int status, const std::vector<HeaderLine>& headers) {
  Follower follower;
  follower.obey(status, headers, kNow);
  return follower;
}

TEST(Follower, SendsFreelyUntilToldOtherwise) {
  Follower follower;
  EXPECT_TRUE(follower.allow(kNow));
  EXPECT_EQ(follower.remaining(kNow), std::nullopt);
}

TEST(Follower, WaitsAsLongAsRetryAfterSays) {
  Follower follower = told(429, {{"retry-AFTER", "5"}});
  EXPECT_EQ(follower.wait(kNow), seconds(5));
  EXPECT_FALSE(follower.allow(kNow + (seconds(5) - Duration(1))));
  EXPECT_TRUE(follower.allow(kNow + seconds(5)));
}

TEST(Follower, HoldsToRetryAfterRatherThanToTheResetOfARefusal) {
  EXPECT_EQ(told(429, {{"Retry-After", "60"},
                       {"X-RateLimit-Remaining", "4000"},
                       {"X-RateLimit-Reset", "3000"}})
                .wait(kNow),
            seconds(60));
  Follower follower = told(429, {{"Retry-After", "1"}, {"RateLimit", "\"a\";r=0;t=60"}});
  EXPECT_EQ(follower.wait(kNow), seconds(1));
  EXPECT_EQ(follower.remaining(kNow), 0u);
  EXPECT_TRUE(follower.allow(kNow + seconds(1)));
  EXPECT_EQ(follower.remaining(kNow + seconds(1)), std::nullopt);
  EXPECT_EQ(told(429, {{"RateLimit", "\"a\";r=3;t=60"}}).wait(kNow), seconds(60));
}

TEST(Follower, HoldsToRetryAfterRatherThanToWhatItKnewBefore) {
  Follower follower = told(200, {{"RateLimit", "\"a\";r=0;t=60"}});
  const HeaderLine retry[] = {{"Retry-After", "5"}};
  follower.obey(503, retry, kNow);
  EXPECT_EQ(follower.wait(kNow), seconds(5));
}

TEST(Follower, ReadsADateInRetryAfter) {
  EXPECT_EQ(told(429, {{"Retry-After", "Thu, 01 Jan 2026 00:01:30 GMT"}}).wait(kNow), seconds(90));
  EXPECT_EQ(told(429, {{"Retry-After", "Wed, 31 Dec 2025 00:00:00 GMT"}}).wait(kNow), seconds(0));
  EXPECT_EQ(told(429, {{"Retry-After", "Thu, 99 Jan 2026 00:01:30 GMT"}}).wait(kNow), seconds(1));
}

TEST(Follower, ReadsTheObsoleteFormsOfADateToo) {
  EXPECT_EQ(told(429, {{"Retry-After", "Thursday, 01-Jan-26 00:01:30 GMT"}}).wait(kNow),
            seconds(90));
  EXPECT_EQ(told(429, {{"Retry-After", "Thu Jan  1 00:01:30 2026"}}).wait(kNow), seconds(90));
}

TEST(Follower, SpendsWhatIsLeftAndThenWaitsForTheReset) {
  Follower follower = told(200, {{"RateLimit", "\"burst\";r=2;t=7, \"daily\";r=50;t=3600"}});
  EXPECT_TRUE(follower.allow(kNow));
  EXPECT_TRUE(follower.allow(kNow));
  EXPECT_FALSE(follower.allow(kNow));
  EXPECT_EQ(follower.wait(kNow), seconds(7));
  EXPECT_TRUE(follower.allow(kNow + seconds(7)));
}

TEST(Follower, UnderstandsTheOlderHeadersInBothTheirForms) {
  EXPECT_EQ(told(200, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "30"}}).wait(kNow),
            seconds(30));
  EXPECT_EQ(
      told(200, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1767225660"}}).wait(kNow),
      seconds(60));
}

TEST(Follower, DrainsOnARefusalThatSaysNothing) {
  EXPECT_EQ(told(429, {}).wait(kNow), seconds(1));
  EXPECT_EQ(told(503, {}).wait(kNow), seconds(0)) << "trouble, not a limit";
  EXPECT_EQ(told(503, {{"Retry-After", "2"}}).wait(kNow), seconds(2));
}

TEST(Follower, IsMadeToWaitADayAtMost) {
  EXPECT_EQ(told(429, {{"Retry-After", "99999999999999999999999"}}).wait(kNow), hours(24));
  EXPECT_EQ(told(429, {{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}}).wait(kNow), hours(24));
  EXPECT_EQ(told(429, {{"Retry-After", "Sat, 01 Jan 0000 00:00:00 GMT"}}).wait(kNow), seconds(0));
}

TEST(Follower, PassesOverWhatItCannotRead) {
  Follower follower = told(200, {{"RateLimit", "nonsense;;;"},
                                 {"X-RateLimit-Remaining", "-3"},
                                 {"X-RateLimit-Reset", "soon"},
                                 {"Retry-After", "1.5"}});
  EXPECT_EQ(follower.wait(kNow), seconds(0));
  EXPECT_EQ(follower.remaining(kNow), std::nullopt);
}

}  // namespace
}  // namespace weir
