#include "engine/ban_book.h"

#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Three refusals within a minute: ten minutes, then twice as long, up to 35.
constexpr policy::Ban kBan{3, minutes(1), minutes(10), minutes(35)};

policy::Limit banning() {
  policy::Limit out = limit("login", bucket(1, minutes(1)), {"user"});
  out.ban = kBan;
  return out;
}

constexpr Instant kNow = at_ns(1'000'000'000'000);
constexpr Duration kNone{0};

TEST(BanBook, BansAfterAsManyRefusalsWithinTheSpan) {
  BanBook book;
  EXPECT_EQ(book.refused("login", kBan, "k", kNow), kNone);
  EXPECT_EQ(book.refused("login", kBan, "k", kNow + seconds(30)), kNone);
  // The first is exactly a minute old and no longer counts.
  EXPECT_EQ(book.refused("login", kBan, "k", kNow + seconds(60)), kNone);
  const Instant third = kNow + seconds(89);
  EXPECT_EQ(book.refused("login", kBan, "k", third), minutes(10));
  EXPECT_EQ(book.left("login", "k", third), minutes(10));
  EXPECT_EQ(book.left("login", "k", third + (minutes(10) - Duration(1))), Duration(1));
  EXPECT_EQ(book.left("login", "k", third + minutes(10)), kNone);
  EXPECT_EQ(book.left("login", "other", third), kNone);
  EXPECT_EQ(book.left("signup", "k", third), kNone);
}

TEST(BanBook, OneRefusalIsEnoughWhereTheLimitSaysSo) {
  BanBook book;
  policy::Ban strict = kBan;
  strict.after = 1;
  EXPECT_EQ(book.refused("login", strict, "k", kNow), minutes(10));
}

TEST(BanBook, EachFurtherBanLastsTwiceAsLongUpToTheBoundAndIsForgottenAfterIt) {
  BanBook book;
  Instant now = kNow;
  const auto next_ban = [&] {
    EXPECT_EQ(book.refused("login", kBan, "k", now), kNone);
    EXPECT_EQ(book.refused("login", kBan, "k", now), kNone);
    const Duration length = book.refused("login", kBan, "k", now);
    now = now + length;
    return length;
  };
  EXPECT_EQ(next_ban(), minutes(10));
  EXPECT_EQ(next_ban(), minutes(20));
  EXPECT_EQ(next_ban(), minutes(35));
  EXPECT_EQ(next_ban(), minutes(35));
  now = now + (minutes(35) - Duration(1));
  EXPECT_EQ(next_ban(), minutes(35)) << "one tick before it is forgotten";
  now = now + minutes(35);
  EXPECT_EQ(next_ban(), minutes(10));
}

TEST(BanBook, RefusalsThatWereDecidedBeforeABanDoNotProlongIt) {
  BanBook book;
  for (int i = 0; i < 3; ++i) book.refused("login", kBan, "k", kNow);
  EXPECT_EQ(book.refused("login", kBan, "k", kNow + minutes(1)), minutes(9));
  EXPECT_EQ(book.left("login", "k", kNow + minutes(10)), kNone);
}

TEST(BanBook, WhatAnotherInstanceBannedIsRefusedHereAndCanBeLifted) {
  BanBook book;
  book.learn({"login", "k", minutes(5), 2, minutes(9)}, kNow);
  EXPECT_EQ(book.left("login", "k", kNow), minutes(5));
  ASSERT_EQ(book.list(kNow).size(), 1u);
  EXPECT_EQ(book.list(kNow)[0].times, 2u);
  EXPECT_TRUE(book.lift("login", "k", kNow));
  EXPECT_FALSE(book.lift("login", "k", kNow));
  EXPECT_EQ(book.left("login", "k", kNow), kNone);
  book.learn({"login", "k", minutes(5), 2, minutes(9)}, kNow);
  book.learn({"login", "k", kNone, 0, kNone}, kNow);
  EXPECT_EQ(book.left("login", "k", kNow), kNone) << "lifted elsewhere";
}

TEST(BanBook, WhoCountsForAFleetIsAskedFirstAndWhereHeCannotItIsCountedHere) {
  BanBook book;
  bool answers = true;
  int asked = 0;
  int lifted = 0;
  book.share({[&](std::string_view, const policy::Ban&, std::string_view) {
                ++asked;
                return answers;
              },
              [&](std::string_view, std::string_view) { ++lifted; }});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(book.refused("login", kBan, "k", kNow), kNone);
  answers = false;
  EXPECT_EQ(book.refused("login", kBan, "k", kNow), kNone);
  EXPECT_EQ(book.refused("login", kBan, "k", kNow), kNone);
  EXPECT_EQ(book.refused("login", kBan, "k", kNow), minutes(10));
  EXPECT_EQ(asked, 8);
  EXPECT_TRUE(book.lift("login", "k", kNow));
  EXPECT_EQ(lifted, 1);
}

TEST(BanBook, ManyKeysLeaveABanInPlaceAndTheBookBounded) {
  BanBook book;
  for (int i = 0; i < 3; ++i) book.refused("login", kBan, "banned", kNow);
  for (std::size_t i = 0; i < 2 * BanBook::kMaxKeys; ++i) {
    book.refused("login", kBan, std::to_string(i), kNow);
  }
  EXPECT_EQ(book.left("login", "banned", kNow), minutes(10));
}

TEST(BanBook, ABookFullOfBansHoldsNoMoreThanItMay) {
  BanBook book;
  policy::Ban strict = kBan;
  strict.after = 1;
  for (std::size_t i = 0; i < 2 * BanBook::kMaxKeys; ++i) {
    book.refused("login", strict, std::to_string(i), kNow);
  }
  EXPECT_LE(book.list(kNow).size(), BanBook::kMaxKeys);
  EXPECT_GT(book.list(kNow).size(), BanBook::kMaxKeys / 2);
}

TEST(BanBook, AKeyTooLongToBeKeptIsNeverBanned) {
  BanBook book;
  const std::string longest(BanBook::kMaxKeyBytes, 'k');
  for (int i = 0; i < 3; ++i) book.refused("login", kBan, longest, kNow);
  for (int i = 0; i < 3; ++i) book.refused("login", kBan, longest + "k", kNow);
  EXPECT_EQ(book.left("login", longest, kNow), minutes(10));
  EXPECT_EQ(book.left("login", longest + "k", kNow), kNone);
}

class Bans : public OverMemory {};

TEST_F(Bans, AKeyIsBannedAndToldSoByTheRefusalThatMakesTheNumberFull) {
  install({banning()});
  const TestRequest mallory{{"user", "mallory"}};
  EXPECT_EQ(fates(mallory, 3), "ADD");
  const Decision third = decide(mallory);
  EXPECT_EQ(third.reason, Reason::kBanned);
  EXPECT_EQ(third.named_limit()->verdict.retry_after, minutes(10));
  now_ = now_ + minutes(9);
  EXPECT_EQ(decide(mallory).named_limit()->verdict.retry_after, minutes(1));
  EXPECT_TRUE(allowed({{"user", "alice"}}));
  now_ = now_ + minutes(1);
  EXPECT_TRUE(allowed(mallory));
}

TEST_F(Bans, TheRefusalThatBeginsABanTellsTheLongerOfTheTwoWaits) {
  policy::Limit slow = banning();
  slow.numbers = {bucket(1, std::chrono::hours(1))};
  install({slow});
  const TestRequest mallory{{"user", "mallory"}};
  fates(mallory, 3);
  EXPECT_EQ(decide(mallory).named_limit()->verdict.retry_after, std::chrono::hours(1));
}

TEST_F(Bans, NothingIsChargedDuringABanAndTheOtherLimitsAreNotAsked) {
  policy::Limit other = limit("other", bucket(100, std::chrono::hours(1)), {"user"});
  install({banning(), other});
  const TestRequest mallory{{"user", "mallory"}};
  fates(mallory, 4);
  const Decision refused = decide(mallory);
  ASSERT_EQ(refused.limits.size(), 1u);
  EXPECT_EQ(refused.limits[0].verdict.remaining, 0u);
  EXPECT_EQ(refused.limits[0].verdict.quota, 1u);
  ASSERT_TRUE(engine_.lift_ban("login", {"mallory"}, now_));
  EXPECT_EQ(decide(mallory, 0).limits[1].verdict.remaining, 99u);
}

TEST_F(Bans, APeekIsNoRefusalAndABannedKeyCanBeLookedAt) {
  install({banning()});
  const TestRequest mallory{{"user", "mallory"}};
  fates(mallory, 4);
  EXPECT_TRUE(decide(mallory, 0).allowed);
}

TEST_F(Bans, ShadowsAndCostsThatCanNeverBeAdmittedBanNobody) {
  policy::Limit shadow = banning();
  shadow.mode = policy::Mode::kShadow;
  install({shadow});
  const TestRequest mallory{{"user", "mallory"}};
  EXPECT_EQ(fates(mallory, 9), "AAAAAAAAA");
  install({banning()});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(decide(mallory, 2).reason, Reason::kCostExceedsLimit);
}

TEST_F(Bans, AResetLiftsABan) {
  install({banning()});
  const TestRequest mallory{{"user", "mallory"}};
  fates(mallory, 4);
  ASSERT_TRUE(engine_.reset("login", {"mallory"}, now_));
  EXPECT_TRUE(allowed(mallory));
}

TEST_F(Bans, OneLimitAskedByNameIsBannedToo) {
  install({banning()});
  fates({{"user", "mallory"}}, 4);
  Decision answer;
  ASSERT_TRUE(engine_.take("login", {"mallory"}, now_, 1,
                           [&](Decision decision) { answer = std::move(decision); }));
  EXPECT_EQ(answer.reason, Reason::kBanned);
}

}  // namespace
}  // namespace weir::engine
