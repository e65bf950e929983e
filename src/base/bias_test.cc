#include "base/bias.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

namespace weir {
namespace {

// Runs `body` on a thread of its own, to its end.
template <typename Body>
void elsewhere(Body body) {
  std::thread(body).join();
}

class BiasTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!bias_.claim()) GTEST_SKIP() << "this machine has no membarrier: nobody owns anything";
  }
  Bias bias_;
};

TEST_F(BiasTest, LetsOnlyItsOwnerIn) {
  ASSERT_TRUE(bias_.enter());
  bias_.leave();
  elsewhere([this] { EXPECT_FALSE(bias_.enter()); });
}

TEST_F(BiasTest, LetsNobodyInOnceItIsTakenAway) {
  elsewhere([this] { bias_.revoke(); });
  EXPECT_FALSE(bias_.owned());
  EXPECT_FALSE(bias_.enter());
}

TEST_F(BiasTest, IsTakenAwayOnlyOnceItsOwnerHasLeft) {
  ASSERT_TRUE(bias_.enter());
  std::atomic<bool> asked{false};
  std::atomic<bool> taken{false};
  std::thread other([&] {
    asked = true;
    bias_.revoke();
    taken = true;
  });
  while (!asked) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::yield();
    ASSERT_FALSE(taken);
  }
  bias_.leave();
  other.join();
  EXPECT_TRUE(taken);
}

TEST_F(BiasTest, MayComeBackToItsOwnerForEver) {
  for (int i = 0; i < 10 * Bias::kMaxOwners; ++i) {
    bias_.revoke();
    ASSERT_TRUE(bias_.claim());
  }
}

// WHY each within the one before: a thread that has ended leaves its name to the next.
TEST_F(BiasTest, HasAFewOwnersAtMostThenNone) {
  const std::function<void(int)> hand_on = [&](int owners) {
    bias_.revoke();
    ASSERT_EQ(bias_.claim(), owners <= Bias::kMaxOwners) << owners;
    if (owners <= Bias::kMaxOwners) elsewhere([&] { hand_on(owners + 1); });
  };
  elsewhere([&] { hand_on(2); });
  EXPECT_FALSE(bias_.claim());
}

// What the owner writes by plain stores is there for who takes the ownership away, whenever he
// does.
TEST(BiasThreads, LoseNothingInAHandOver) {
  constexpr int kRounds = 25;
  for (int round = 0; round < kRounds; ++round) {
    Bias bias;
    if (!bias.claim()) GTEST_SKIP() << "this machine has no membarrier: nobody owns anything";
    bias.revoke();
    std::atomic<int> count{0};
    std::atomic<bool> started{false};
    int added = 0;
    std::thread owner([&] {
      ASSERT_TRUE(bias.claim());
      while (bias.enter()) {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        bias.leave();
        ++added;
        started = true;  // as a lock would: whoever sees it may revoke
      }
    });
    while (!started) std::this_thread::yield();
    for (int i = 0; i < round % 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    bias.revoke();
    const int seen = count.load(std::memory_order_relaxed);
    owner.join();
    ASSERT_EQ(seen, added) << "round " << round;
  }
}

}  // namespace
}  // namespace weir
