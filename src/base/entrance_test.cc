#include "base/entrance.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "base/sanitizers.h"

namespace weir {
namespace {

using Visit = Entrance::Visit;

bool alone_in(Entrance& entrance) {
  const Visit visit(entrance);
  return visit.alone();
}

class EntranceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Bias::available()) GTEST_SKIP() << "this machine has no membarrier: all is shared";
  }
  Entrance entrance_;
};

TEST_F(EntranceTest, IsItsFirstVisitorsAlone) {
  EXPECT_TRUE(alone_in(entrance_));
  EXPECT_TRUE(alone_in(entrance_));
}

TEST_F(EntranceTest, LetsAnotherInOnlyOnceTheFirstIsOut) {
  std::atomic<bool> asked{false};
  std::atomic<bool> is_in{false};
  std::thread other;
  {
    const Visit visit(entrance_);
    other = std::thread([&] {
      asked = true;
      const Visit second(entrance_);
      EXPECT_TRUE(second.alone());
      is_in = true;
    });
    while (!asked) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) {
      std::this_thread::yield();
      EXPECT_FALSE(is_in);
    }
  }
  other.join();
  EXPECT_TRUE(is_in);
}

// WHY each within the one before: a thread that has ended leaves its name to the next.
TEST_F(EntranceTest, IsEverybodysForEverAfterAFewChanges) {
  const std::function<void(int)> visit_from = [&](int threads) {
    EXPECT_EQ(alone_in(entrance_), threads <= Bias::kMaxOwners) << threads;
    if (threads <= Bias::kMaxOwners) std::thread(visit_from, threads + 1).join();
  };
  visit_from(1);
  EXPECT_FALSE(alone_in(entrance_));
}

// Those who are alone count by plain stores, the others by locked ones. Starts anew again and
// again, so that the changes of owner meet counting at all its moments.
TEST(EntranceThreads, LoseNothing) {
  constexpr int kRounds = 50;
  constexpr int kThreads = 3;
  constexpr int kCounts = 2'000;
  for (int round = 0; round < kRounds; ++round) {
    Entrance entrance;
    std::atomic<int> count{0};
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        for (int i = 0; i < kCounts; ++i) {
          const Visit visit(entrance);
          if (visit.alone()) {
            count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          } else {
            count.fetch_add(1, std::memory_order_relaxed);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(count, kThreads * kCounts) << "round " << round;
  }
}

std::atomic<bool> interrupted{false};
std::atomic<bool> other_is_in{false};

// Stands still as a thread does that was taken off its processor.
void wait_for_other(int /*signal*/) {
  interrupted = true;
  for (int i = 0; i < 300 && !other_is_in; ++i) std::this_thread::yield();
}

// Interrupts an owner that comes and goes, anywhere on its way, and comes in meanwhile; whether the
// owner then came in beside.
bool comes_in_beside_the_next() {
  Entrance entrance;
  interrupted = other_is_in = false;
  std::atomic<bool> begun{false};
  std::atomic<bool> stop{false};
  std::atomic<bool> both{false};
  std::thread owner([&] {
    while (!stop) {
      const Visit visit(entrance);
      if (visit.alone() && other_is_in) both = true;
      begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  pthread_kill(owner.native_handle(), SIGUSR1);
  while (!interrupted) std::this_thread::yield();
  {
    const Visit visit(entrance);
    other_is_in = visit.alone();
    for (int i = 0; i < 100 && !both; ++i) std::this_thread::yield();
    other_is_in = false;
  }
  stop = true;
  owner.join();
  return both;
}

TEST(EntranceThreads, AnOwnerInterruptedOnItsWayInDoesNotComeInBesideTheNext) {
  if (kThreadSanitizer) GTEST_SKIP() << "it holds signals back from a thread that makes no calls";
  const auto before = std::signal(SIGUSR1, wait_for_other);
  for (int round = 0; round < 60; ++round) {
    EXPECT_FALSE(comes_in_beside_the_next()) << "round " << round;
  }
  std::signal(SIGUSR1, before);
}

}  // namespace
}  // namespace weir
