// Reservations that are cancelled while others stand: by examples, and against a model that keeps
// every act.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weir/limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000;

Limiter bucket(std::uint64_t burst) {
  return *Limiter::make(TokenBucket{{1, seconds(1)}, burst});
}

Ticket reserve(Limiter& limiter, std::uint64_t cost, Instant now = at_ns(0)) {
  return limiter.reserve(cost, Duration::max(), now);
}

TEST(Promises, NobodyActsTogetherWithOneWhoKeepsHisTurn) {
  Limiter limiter = bucket(1);
  reserve(limiter, 1);
  Ticket second = reserve(limiter, 1);
  EXPECT_EQ(reserve(limiter, 1).delay(), seconds(2));
  second.cancel(at_ns(0));
  EXPECT_EQ(reserve(limiter, 1).delay(), seconds(3));
}

TEST(Promises, TurnsThatHavePassedLeaveNothingForABucketThatCannotStoreIt) {
  Limiter limiter = bucket(1);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 100; ++i) tickets.push_back(reserve(limiter, 1));
  for (std::size_t i = 1; i <= 50; ++i) tickets[i].cancel(at_ns(60 * kSecond));
  EXPECT_EQ(limiter.peek(at_ns(60 * kSecond)).remaining, 0u);
  EXPECT_EQ(limiter.check(1, at_ns(60 * kSecond)).retry_after, seconds(40));
}

TEST(Promises, TheLastOneGivesBackAllAndWhatItKeptFromOthers) {
  Limiter limiter = bucket(10);
  limiter.drain(at_ns(0));
  Ticket first = reserve(limiter, 5);
  Ticket second = reserve(limiter, 10);
  first.cancel(at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(16)) << "it needs all that comes in";
  second.cancel(at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(1));
}

TEST(Promises, OneThatIsCancelledAtOnceLeavesTheOthersAsTheyWere) {
  Limiter limiter = bucket(10);
  limiter.drain(at_ns(0));
  Ticket first = reserve(limiter, 5);
  reserve(limiter, 5);
  for (int i = 0; i < 3; ++i) reserve(limiter, 10).cancel(at_ns(0));
  first.cancel(at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(6));
}

TEST(Promises, ARefundLeavesRoomForThoseWhoseTurnIsAhead) {
  Limiter limiter = bucket(2);
  limiter.drain(at_ns(0));
  for (int i = 0; i < 10; ++i) reserve(limiter, 1);
  limiter.refund(10, at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, seconds(10));
  limiter.refund(10, at_ns(10 * kSecond));
  EXPECT_EQ(limiter.peek(at_ns(10 * kSecond)).remaining, 2u) << "nobody is ahead any more";
}

TEST(Promises, AChangeOfNumbersKeepsThemAndAResetForgetsThem) {
  Limiter limiter = bucket(10);
  limiter.drain(at_ns(0));
  Ticket first = reserve(limiter, 1);
  reserve(limiter, 1);
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 11}, Inherit::kAsIs, at_ns(0)));
  const Duration before = limiter.check(1, at_ns(0)).retry_after;
  first.cancel(at_ns(0));
  EXPECT_EQ(limiter.check(1, at_ns(0)).retry_after, before);
  limiter.reset(at_ns(0));
  ASSERT_TRUE(limiter.allow(5, at_ns(0)));
  limiter.refund(5, at_ns(0));
  EXPECT_EQ(limiter.peek(at_ns(0)).remaining, 11u);
}

TEST(Promises, OneWhoWaitsMovesUpByWhatOthersLeaveRoomFor) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 2}, {.clock = &clock});
  limiter.drain();
  Ticket cancelled = limiter.reserve(2);
  const Ticket stands = limiter.reserve(1);
  Waiter waiter = limiter.queue(1, std::nullopt, {});
  EXPECT_EQ(waiter.wake_at_ns(), 4 * kSecond);
  cancelled.cancel();
  EXPECT_EQ(stands.delay(), seconds(3));
  EXPECT_EQ(waiter.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(waiter.wake_at_ns(), 3 * kSecond);
}

TEST(Promises, ARefundFillsABucketButForThoseWhoWait) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 5}, {.clock = &clock});
  limiter.drain();
  Waiter waiter = limiter.queue(3, std::nullopt, {});
  limiter.refund(1000);
  EXPECT_EQ(waiter.poll(at_ns(0)), Waiter::State::kAdmitted);
  EXPECT_EQ(limiter.peek().remaining, 2u);
}

// Every act, and whether from the last giving back on they obey a bucket that was full then.
class Acts {
 public:
  // Says by which number it is cancelled.
  std::size_t add(std::uint64_t cost, std::int64_t turn) {
    acts_.push_back({turn, cost});
    return acts_.size() - 1;
  }
  void cancel(std::size_t act, std::uint64_t kept, std::int64_t now) {
    acts_[act].cost = kept;
    give_back(now);
  }
  void give_back(std::int64_t now) {
    since_ = now;
    decided_ = acts_.size();
  }
  bool obey(std::uint64_t burst) const {
    std::vector<Act> ahead;
    for (std::size_t i = 0; i < acts_.size(); ++i) {
      if (i >= decided_ || acts_[i].turn > since_) ahead.push_back(acts_[i]);
    }
    std::stable_sort(ahead.begin(), ahead.end(),
                     [](const Act& a, const Act& b) { return a.turn < b.turn; });
    const std::int64_t full = static_cast<std::int64_t>(burst) * kSecond;
    std::int64_t held = full;
    std::int64_t time = since_;
    for (const Act& act : ahead) {
      held = std::min(full, held + act.turn - std::exchange(time, act.turn));
      held -= static_cast<std::int64_t>(act.cost) * kSecond;
      if (held < 0) return false;
    }
    return true;
  }

 private:
  struct Act {
    std::int64_t turn;
    std::uint64_t cost;
  };
  std::vector<Act> acts_;
  std::int64_t since_ = 0;
  std::size_t decided_ = 0;  // how many there were then
};

// Reserves, takes, waits, cancels, settles, leaves and blocks at random, at one token a second.
class Trace {
 public:
  explicit Trace(std::uint64_t seed)
      : random_(seed), burst_(1 + random_() % 10), limiter_(bucket(burst_)) {}

  void step() {
    for (auto pause = random_() % 3 == 0 ? random_() % 6 : 0; pause > 0; --pause) {
      now_ += kSecond / 2;  // all that happens, happens at halves of a second
      admit();
    }
    act();
    admit();
  }
  bool obeys() const { return acts_.obey(burst_); }

 private:
  void act() {
    const std::uint64_t cost = 1 + random_() % burst_;
    const std::uint64_t kind = random_() % 16;
    if (kind < 6) return promise(cost);
    if (kind < 9) return give_back();
    if (kind < 11) return wait(cost);
    if (kind == 11) return leave();
    if (kind == 12) return block();
    if (limiter_.allow(cost, at_ns(now_))) acts_.add(cost, now_);
  }
  void admit() {
    std::erase_if(waiting_, [this](auto& one) {
      const bool admitted = one.first.poll(at_ns(now_)) == Waiter::State::kAdmitted;
      if (admitted) acts_.add(one.second, now_);
      return admitted;
    });
  }
  void wait(std::uint64_t cost) {
    waiting_.emplace_back(limiter_.queue(cost, std::nullopt, {}, at_ns(now_)), cost);
  }
  void leave() {
    if (waiting_.empty()) return;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size()));
    acts_.give_back(now_);
  }
  void block() {
    limiter_.block(milliseconds(500 * (random_() % 4)), at_ns(now_));
    acts_.give_back(now_);
  }
  void promise(std::uint64_t cost) {
    Ticket ticket = limiter_.reserve(cost, seconds(60), at_ns(now_));
    if (!ticket.granted()) return;
    tickets_.emplace_back(ticket, acts_.add(cost, now_ + ticket.delay().count()));
  }
  void give_back() {
    if (tickets_.empty()) return;
    const auto chosen = tickets_.begin() + static_cast<std::ptrdiff_t>(random_() % tickets_.size());
    const std::uint64_t kept = random_() % 2 == 0 ? 0 : random_() % chosen->first.cost();
    chosen->first.settle(kept, at_ns(now_));
    acts_.cancel(chosen->second, kept, now_);
    tickets_.erase(chosen);
  }

  std::mt19937_64 random_;
  std::uint64_t burst_;
  Limiter limiter_;
  std::int64_t now_ = 0;
  Acts acts_;
  std::vector<std::pair<Ticket, std::size_t>> tickets_;
  std::vector<std::pair<Waiter, std::uint64_t>> waiting_;
};

TEST(Promises, TheLimitHoldsWhateverIsCancelled) {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    Trace trace(seed);
    for (int i = 0; i < 60; ++i) {
      trace.step();
      ASSERT_TRUE(trace.obeys()) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace weir
