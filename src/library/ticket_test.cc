// Tickets, and what is taken beyond what is there.

#include <gtest/gtest.h>

#include <functional>

#include "library/test_limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Limiter, ACancelledReservationGivesBackAllThatIsUseful) {
  Limiter limiter = bucket(10, seconds(1), 10);
  limiter.drain(at_ns(0));
  Ticket first = limiter.reserve(5, Duration::max(), at_ns(0));
  Ticket second = limiter.reserve(5, Duration::max(), at_ns(0));
  EXPECT_EQ(first.delay(), milliseconds(500));
  EXPECT_EQ(second.delay(), seconds(1));
  first.cancel(at_ns(0));
  first.cancel(at_ns(0));  // once
  EXPECT_EQ(second.delay(), seconds(1));
  EXPECT_EQ(limiter.reserve(1, Duration::max(), at_ns(0)).delay(), milliseconds(600));
}

TEST(Limiter, ReservesNothingBeyondTheDelayThatIsBearable) {
  Limiter limiter = bucket(1, seconds(1), 1);
  limiter.drain(at_ns(0));
  const Ticket refused = limiter.reserve(1, milliseconds(999), at_ns(0));
  EXPECT_FALSE(refused.granted());
  EXPECT_EQ(refused.verdict().retry_after, seconds(1));
  EXPECT_EQ(limiter.reserve(1, seconds(1), at_ns(0)).delay(), seconds(1));
  EXPECT_EQ(limiter.reserve(2, Duration::max(), at_ns(0)).verdict().outcome, Outcome::kNever);
}

TEST(Limiter, SettlesATicketForWhatTheCallCost) {
  Limiter limiter = bucket(1, seconds(1), 100);
  Ticket cheap = limiter.reserve(10, Duration(0), at_ns(0));
  limiter.settle(cheap, 4, at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 96u);
  Ticket dear = limiter.reserve(10, Duration(0), at_ns(0));
  dear.settle(96, at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 0u);
  dear.cancel(at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 0u);
}

TEST(Limiter, SettlesATicketInTheWindowThatWasCharged) {
  Limiter limiter = make(FixedWindow{10, seconds(10)});
  Ticket ticket = limiter.reserve(1, Duration(0), at_ns(kSecond));
  ticket.settle(6, at_ns(11 * kSecond));
  EXPECT_EQ(limiter.peek(at_ns(11 * kSecond)).remaining, 10u);
  Ticket again = limiter.reserve(1, Duration(0), at_ns(11 * kSecond));
  again.settle(6, at_ns(12 * kSecond));
  EXPECT_EQ(limiter.peek(at_ns(12 * kSecond)).remaining, 4u);
}

TEST(Limiter, SettlesACallInFlightFromWhenItBegan) {
  Limiter limiter = make(Concurrency{3, seconds(60)});
  Ticket ticket = limiter.reserve(1, Duration(0), at_ns(0));
  ticket.settle(3, at_ns(50 * kSecond));
  EXPECT_EQ(limiter.peek(at_ns(50 * kSecond)).remaining, 0u);
  EXPECT_EQ(limiter.peek(at_ns(61 * kSecond)).remaining, 3u);
}

TEST(Limiter, ATicketFromBeforeAResetCorrectsNothing) {
  Limiter limiter = make(FixedWindow{10, seconds(10)});
  Ticket before = limiter.reserve(10, Duration(0), at_ns(kSecond));
  limiter.reset(at_ns(kSecond));
  ASSERT_TRUE(limiter.allow(10, at_ns(kSecond)));
  before.cancel(at_ns(kSecond));
  EXPECT_EQ(limiter.peek(at_ns(kSecond)).remaining, 0u);
}

TEST(Limiter, ATicketCorrectsNothingOnceTheCountersStartedAfresh) {
  const TokenBucket bucket_of_ten{{1, seconds(1)}, 10};
  const auto update = [](const Numbers& numbers, Inherit inherit) {
    return [numbers, inherit](Limiter& limiter) {
      EXPECT_TRUE(limiter.update(numbers, inherit, at_ns(0)));
    };
  };
  const std::function<void(Limiter&)> starts[] = {
      update(FixedWindow{10, seconds(10)}, Inherit::kAsIs),
      update(bucket_of_ten, Inherit::kReset),
      [](Limiter& limiter) { limiter.set_tokens(10, at_ns(0)); },
  };
  for (const auto& start : starts) {
    Limiter limiter = make(bucket_of_ten);
    Ticket cancelled = limiter.reserve(5, Duration(0), at_ns(0));
    Ticket settled = limiter.reserve(1, Duration(0), at_ns(0));
    start(limiter);
    ASSERT_TRUE(limiter.allow(5, at_ns(0)));
    cancelled.cancel(at_ns(0));
    settled.settle(3, at_ns(0));
    EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 5u);
  }
}

TEST(Limiter, ATicketOutlivesAnUpdateThatKeepsWhatIsLeft) {
  Limiter limiter = bucket(1, seconds(1), 10);
  Ticket ticket = limiter.reserve(5, Duration(0), at_ns(0));
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 20}, Inherit::kAdditive, at_ns(0)));
  ticket.cancel(at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 20u);
}

TEST(Limiter, OwesAPenaltyBeyondWhatItHas) {
  Limiter limiter = bucket(1, seconds(1), 5);
  limiter.penalty(8, at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(4));
  EXPECT_TRUE(limiter.allow(1, at_ns(4 * kSecond)));
}

TEST(Limiter, OwesLessWhereItsBurstGrowsAndTheDifferenceIsThereAtOnce) {
  Limiter limiter = bucket(1, seconds(1), 10);
  limiter.penalty(13, at_ns(0));
  const TokenBucket larger{{1, seconds(1)}, 20};
  ASSERT_TRUE(limiter.update(larger, Inherit::kAdditive, at_ns(0)));
  EXPECT_EQ(limiter.peek(at_ns(1)).remaining, 7u);  // a tick is rounded against the caller
  const TokenBucket larger_yet{{1, seconds(1)}, 30};
  limiter.penalty(27, at_ns(1));
  ASSERT_TRUE(limiter.update(larger_yet, Inherit::kAdditive, at_ns(1)));
  EXPECT_EQ(limiter.check(1, at_ns(2)).retry_after, seconds(11)) << "ten of twenty are owed still";
}

}  // namespace
}  // namespace weir
