#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "weir/limiter.h"

namespace weir {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kSecond = 1'000'000'000;

class Waiters {
 public:
  explicit Waiters(const std::vector<Numbers>& numbers)
      : limiter(*Limiter::make(numbers, {.clock = &clock})) {}

  // Starts a thread that waits, and returns when it does.
  void start(int name, std::size_t parked_then) {
    threads_.emplace_back([this, name] {
      const Verdict verdict = limiter.acquire();
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(verdict.allowed());
      order_.push_back(name);
      came_.notify_all();
    });
    clock.await_parked(parked_then);
  }
  // Blocks until `count` have been admitted.
  void await(std::size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return order_.size() >= count; });
  }
  std::vector<int> join() {
    for (std::thread& thread : threads_) thread.join();
    return order_;
  }

  ManualClock clock{at_ns(0)};
  Limiter limiter;

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<int> order_;
  std::vector<std::thread> threads_;
};

TEST(Queue, WakesOneWaiterForEachTokenInTheOrderTheyCame) {
  constexpr int kWaiters = 50;
  Waiters waiters({TokenBucket{{1, seconds(1)}, 1}});
  ASSERT_TRUE(waiters.limiter.allow());
  for (int i = 0; i < kWaiters; ++i) waiters.start(i, static_cast<std::size_t>(i) + 1);
  for (int i = 1; i <= kWaiters; ++i) {
    EXPECT_FALSE(waiters.limiter.allow()) << "a token that somebody waits for";
    waiters.clock.set(at_ns(i * kSecond));
    waiters.await(static_cast<std::size_t>(i));
  }
  const std::vector<int> order = waiters.join();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(waiters.clock.wakes(), static_cast<std::uint64_t>(kWaiters));
}

TEST(Queue, ServesWindowsInOrderToo) {
  Waiters waiters({SlidingCounter{1, seconds(1)}});
  ASSERT_TRUE(waiters.limiter.allow());
  waiters.start(0, 1);
  waiters.start(1, 2);
  EXPECT_FALSE(waiters.limiter.allow());
  waiters.clock.set(at_ns(2 * kSecond));
  waiters.await(1);
  EXPECT_FALSE(waiters.limiter.allow());
  waiters.clock.await_parked(1);
  waiters.clock.set(at_ns(4 * kSecond));
  EXPECT_EQ(waiters.join(), (std::vector<int>{0, 1}));
}

TEST(Queue, RefusesAtOnceATurnThatComesAfterTheDeadline) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 1}, {.clock = &clock});
  limiter.drain();
  const Verdict late = limiter.acquire_until(at_ns(kSecond - 1));
  EXPECT_EQ(late.outcome, Outcome::kDenied);
  EXPECT_EQ(late.retry_after, seconds(1));
  EXPECT_EQ(limiter.acquire_until(at_ns(kSecond), 2).outcome, Outcome::kNever);
  EXPECT_EQ(limiter.reserve(1).delay(), seconds(1)) << "nothing was taken";
}

TEST(Queue, WaitsForCallsInFlightThatMayEndBeforeTheDeadline) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(Concurrency{1, seconds(60)}, {.clock = &clock});
  Ticket ticket = limiter.reserve(1);
  Waiter first = limiter.queue(1, at_ns(2 * kSecond), {});
  Waiter second = limiter.queue(1, at_ns(2 * kSecond), {});
  EXPECT_EQ(first.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(first.wake_at_ns(), 2 * kSecond);
  ticket.cancel(at_ns(kSecond));
  EXPECT_EQ(first.poll(at_ns(kSecond)), Waiter::State::kAdmitted);
  EXPECT_EQ(second.poll(at_ns(2 * kSecond)), Waiter::State::kRefused);
  EXPECT_FALSE(second.verdict().retry_known);
  EXPECT_EQ(second.verdict().retry_after, seconds(59)) << "a bound";
}

TEST(Queue, RefusesAtOnceWhoeverIsBlockedBeyondTheDeadline) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(10)}, 1}, {.clock = &clock});
  limiter.drain();
  limiter.block(seconds(5));
  Waiter waiter = limiter.queue(1, at_ns(2 * kSecond), {});
  EXPECT_EQ(waiter.poll(at_ns(0)), Waiter::State::kRefused);
  EXPECT_EQ(waiter.verdict().retry_after, seconds(10));
}

TEST(Queue, AdmitsWhatCostsNothingThoughTheBucketOwes) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 1}, {.clock = &clock});
  limiter.penalty(5);
  Waiter waiter = limiter.queue(0, std::nullopt, {});
  EXPECT_EQ(waiter.poll(at_ns(0)), Waiter::State::kAdmitted);
  EXPECT_EQ(waiter.verdict().quota, 1u);
}

TEST(Queue, OneWhoWasAdmittedAndNeverLearnedOfItGivesBack) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 3}, {.clock = &clock});
  limiter.drain();
  auto unaware = std::make_unique<Waiter>(limiter.queue(3, std::nullopt, {}));
  auto aware = std::make_unique<Waiter>(limiter.queue(1, std::nullopt, {}));
  limiter.block(Duration(0), at_ns(4 * kSecond));  // a change admits those whose turn has come
  EXPECT_EQ(aware->poll(at_ns(4 * kSecond)), Waiter::State::kAdmitted);
  EXPECT_EQ(limiter.peek(at_ns(4 * kSecond)).remaining, 0u);
  aware.reset();
  EXPECT_EQ(limiter.peek(at_ns(4 * kSecond)).remaining, 0u);
  unaware.reset();
  EXPECT_EQ(limiter.peek(at_ns(4 * kSecond)).remaining, 3u);
}

TEST(Queue, OneWhoNeverLearnedOfACallInFlightEndsIt) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(Concurrency{1, seconds(60)}, {.clock = &clock});
  { const Waiter unaware = limiter.queue(1, std::nullopt, {}); }
  EXPECT_TRUE(limiter.allow());
  limiter.reset();
  {
    const Waiter unaware = limiter.queue(1, std::nullopt, {});
    limiter.reset();
    EXPECT_TRUE(limiter.allow());
  }
  EXPECT_FALSE(limiter.allow()) << "what was reset is not held by anyone";
}

TEST(Queue, MovesUpThoseBehindOneWhoLeaves) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 5}, {.clock = &clock});
  limiter.drain();
  int woken = 0;
  auto first = std::make_unique<Waiter>(limiter.queue(3, std::nullopt, {}));
  Waiter second = limiter.queue(2, std::nullopt, [&] { ++woken; });
  EXPECT_EQ(second.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(second.wake_at_ns(), 5 * kSecond);
  first.reset();
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(second.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(second.wake_at_ns(), 2 * kSecond);
  EXPECT_EQ(second.poll(at_ns(2 * kSecond - 1)), Waiter::State::kWaiting);
  EXPECT_EQ(second.poll(at_ns(2 * kSecond)), Waiter::State::kAdmitted);
}

TEST(Queue, ACancelledTicketMovesUpOnlyThoseWhoCameAfterIt) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 5}, {.clock = &clock});
  limiter.drain();
  Waiter before = limiter.queue(1, std::nullopt, {});
  Ticket ticket = limiter.reserve(2);
  Waiter after = limiter.queue(1, std::nullopt, {});
  EXPECT_EQ(after.wake_at_ns(), 4 * kSecond);
  ticket.cancel();
  EXPECT_EQ(before.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(before.wake_at_ns(), kSecond);
  EXPECT_EQ(after.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(after.wake_at_ns(), 2 * kSecond);
}

TEST(Queue, QueuesUpAnewBehindAChangeOfNumbers) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 4}, {.clock = &clock});
  limiter.drain();
  Waiter one = limiter.queue(1, std::nullopt, {});
  Waiter four = limiter.queue(4, std::nullopt, {});
  ASSERT_TRUE(limiter.update(TokenBucket{{2, seconds(1)}, 2}));
  EXPECT_EQ(four.poll(at_ns(0)), Waiter::State::kRefused);
  EXPECT_EQ(four.verdict().outcome, Outcome::kNever);
  EXPECT_EQ(one.poll(at_ns(0)), Waiter::State::kWaiting);
  EXPECT_EQ(one.wake_at_ns(), kSecond / 2);
  limiter.reset();
  EXPECT_EQ(one.poll(at_ns(0)), Waiter::State::kAdmitted);
}

class Queued {
 public:
  Queued(Limiter& limiter, int count) {
    for (int i = 0; i < count; ++i) {
      waiters_.push_back(std::make_unique<Waiter>(limiter.queue(1, std::nullopt, {})));
    }
  }
  // Who is admitted now: asked from the last to the first.
  std::set<int> admitted(Instant now) {
    std::set<int> names;
    for (int i = static_cast<int>(waiters_.size()) - 1; i >= 0; --i) {
      auto& waiter = waiters_[static_cast<std::size_t>(i)];
      if (waiter == nullptr || waiter->poll(now) != Waiter::State::kAdmitted) continue;
      names.insert(i);
      waiter.reset();
    }
    return names;
  }
  void leave(std::size_t name) { waiters_[name].reset(); }

 private:
  std::vector<std::unique_ptr<Waiter>> waiters_;
};

TEST(Queue, ABlockLeavesThoseWhoWaitWhatTheBucketHoldsAtItsEndAndTheirOrder) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 2}, {.clock = &clock});
  limiter.drain();
  Queued queued(limiter, 5);
  limiter.block(seconds(10));
  Queued later(limiter, 2);
  queued.leave(1);
  EXPECT_TRUE(queued.admitted(at_ns(10 * kSecond - 1)).empty());
  EXPECT_FALSE(limiter.allow(1, at_ns(10 * kSecond))) << "what it holds is for those who wait";
  EXPECT_EQ(queued.admitted(at_ns(10 * kSecond)), (std::set<int>{0, 2}));
  EXPECT_EQ(queued.admitted(at_ns(11 * kSecond)), (std::set<int>{3}));
  EXPECT_TRUE(later.admitted(at_ns(12 * kSecond)).empty());
  EXPECT_EQ(queued.admitted(at_ns(12 * kSecond)), (std::set<int>{4}));
  EXPECT_EQ(later.admitted(at_ns(14 * kSecond)), (std::set<int>{0, 1}));
}

TEST(Queue, ABlockThatIsLiftedGivesThoseWhoWaitWhatHasComeInSoFar) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 5}, {.clock = &clock});
  limiter.drain();
  Queued queued(limiter, 6);
  limiter.block(seconds(10));
  limiter.block(Duration(0), at_ns(2 * kSecond));
  EXPECT_EQ(queued.admitted(at_ns(2 * kSecond)), (std::set<int>{0, 1}));
  limiter.block(seconds(10), at_ns(2 * kSecond));
  limiter.penalty(1, at_ns(2 * kSecond));
  EXPECT_TRUE(queued.admitted(at_ns(3 * kSecond)).empty());
  ASSERT_TRUE(limiter.update(TokenBucket{{1, seconds(1)}, 1}, Inherit::kAsIs, at_ns(3 * kSecond)));
  EXPECT_TRUE(queued.admitted(at_ns(4 * kSecond)).empty());
  limiter.reset(at_ns(4 * kSecond));
  EXPECT_EQ(queued.admitted(at_ns(4 * kSecond)), (std::set<int>{2}));
  EXPECT_EQ(queued.admitted(at_ns(5 * kSecond)), (std::set<int>{3}));
}

TEST(Queue, ATicketThatIsCancelledMovesUpThoseWhoHeldAnewAfterABlock) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 5}, {.clock = &clock});
  limiter.drain();
  Queued queued(limiter, 1);
  Ticket ticket = limiter.reserve(5);
  limiter.block(seconds(1));
  EXPECT_TRUE(queued.admitted(at_ns(kSecond)).empty()) << "behind the ticket now";
  ticket.cancel(at_ns(kSecond));
  EXPECT_EQ(queued.admitted(at_ns(kSecond)), (std::set<int>{0}));
}

TEST(Queue, RefusesWhatCanNeverBeHadThoughItIsBlocked) {
  ManualClock clock(at_ns(0));
  Limiter limiter = *Limiter::make(TokenBucket{{1, seconds(1)}, 2}, {.clock = &clock});
  limiter.block(seconds(10));
  Waiter waiter = limiter.queue(3, std::nullopt, {});
  EXPECT_EQ(waiter.poll(at_ns(0)), Waiter::State::kRefused);
  EXPECT_EQ(waiter.verdict().outcome, Outcome::kNever);
}

TEST(Queue, WakesEachWaiterAtItsTurnAfterABlock) {
  constexpr int kWaiters = 4;
  Waiters waiters({TokenBucket{{1, seconds(1)}, 1}});
  ASSERT_TRUE(waiters.limiter.allow());
  for (int i = 0; i < kWaiters; ++i) waiters.start(i, static_cast<std::size_t>(i) + 1);
  waiters.limiter.block(seconds(10));
  for (int i = 1; i <= kWaiters; ++i) {
    waiters.clock.await_parked(static_cast<std::size_t>(kWaiters - i + 1));
    waiters.clock.set(at_ns((9 + i) * kSecond));
    waiters.await(static_cast<std::size_t>(i));
  }
  const std::vector<int> order = waiters.join();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Queue, WaitsForTheMachinesClock) {
  Limiter limiter = *Limiter::make(TokenBucket{{1000, seconds(1)}, 1});
  ASSERT_TRUE(limiter.allow());
  EXPECT_TRUE(limiter.acquire().allowed());
  EXPECT_TRUE(limiter.acquire_until(system_clock().now() + seconds(5)).allowed());
}

}  // namespace
}  // namespace weir
