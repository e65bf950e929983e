#include "engine/denied_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace weir::engine {
namespace {

std::string key_of(const std::string& user) {
  return "4:user," + std::to_string(user.size()) + ':' + user + ',';
}

// As the engine does it.
void count(DeniedKeys& keys, const char* limit, const std::string& user, Instant now) {
  const std::uint64_t weight = DeniedKeys::weight(now);
  if (weight > 0) keys.count(limit, key_of(user), weight);
}

// Each test begins in a second of its own: how many a thread may count one by one goes by that.
Instant next_start() {
  static int tests = 0;
  return at_ns(1'700'000'000'000'000'000) + std::chrono::hours(++tests);
}

class Counting : public ::testing::Test {
 protected:
  void refuse(const std::string& user, int times = 1, const char* limit = "login") {
    // A new second for every 4,096 refusals, so that all are counted.
    for (int i = 0; i < times; ++i) {
      if (++refused_ % DeniedKeys::kExact == 0) now_ = now_ + std::chrono::seconds(2);
      count(keys_, limit, user, now_);
    }
  }

  DeniedKeys keys_;
  Instant now_ = next_start();
  int refused_ = 0;
};

TEST_F(Counting, TellsTheMostRefusedFirstAndExactlyWhileThereIsRoom) {
  refuse("ann", 3);
  refuse("bob", 5);
  refuse("ann", 4, "query");
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].shown, "user=bob");
  EXPECT_EQ(top[0].count, 5u);
  EXPECT_EQ(top[1].limit, "query");
  ASSERT_EQ(top[1].parts.size(), 1u);
  EXPECT_EQ(top[1].parts[0], std::make_pair(std::string("user"), std::string("ann")));
  EXPECT_EQ(top[2].count, 3u);
  EXPECT_EQ(keys_.error(), 0u);
}

// A client in a loop among a flood of others, each of which is refused once or twice.
TEST_F(Counting, FindsTheHeavyOnesInAFloodAndStatesTheError) {
  constexpr int kFlood = 100'000;
  for (int i = 0; i < kFlood; ++i) {
    refuse("stranger-" + std::to_string(i));
    if (i % 50 == 0) refuse("loop");    // 2,000 times
    if (i % 200 == 0) refuse("other");  // 500 times
  }
  const auto top = keys_.top();
  ASSERT_GE(top.size(), 2u);
  EXPECT_EQ(top[0].shown, "user=loop");
  EXPECT_GE(top[0].count, 2000u);
  EXPECT_LE(top[0].count - top[0].error, 2000u);
  EXPECT_EQ(top[1].shown, "user=other");
  EXPECT_LE(top[1].count - top[1].error, 500u);
  EXPECT_LE(keys_.error(), 4u * kFlood / (DeniedKeys::kSets * DeniedKeys::kWays));
}

TEST_F(Counting, NeverLetsACountFall) {
  refuse("ann", 100);
  std::uint64_t before = 0;
  for (int i = 0; i < 20'000; ++i) {
    refuse("stranger-" + std::to_string(i));
    if (i % 1000 != 0) continue;
    const auto top = keys_.top();
    const auto ann = std::find_if(top.begin(), top.end(),
                                  [](const DeniedKey& key) { return key.shown == "user=ann"; });
    ASSERT_NE(ann, top.end());
    EXPECT_GE(ann->count, before);
    before = ann->count;
  }
}

// Where a thread refuses more than it may count one by one, what it counts stands for the rest.
TEST_F(Counting, CountsOneInSeveralOfAVeryFastClient) {
  constexpr int kCalls = 1'000'000;
  for (int i = 0; i < kCalls; ++i) count(keys_, "login", i % 4 == 0 ? "slow" : "fast", now_);
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].shown, "user=fast");
  EXPECT_NEAR(static_cast<double>(top[0].count), 0.75 * kCalls, 0.05 * kCalls);
  EXPECT_NEAR(static_cast<double>(top[1].count), 0.25 * kCalls, 0.05 * kCalls);
}

TEST_F(Counting, CountsOneByOneAgainOnceAFloodIsOver) {
  for (int i = 0; i < 1'000'000; ++i) count(keys_, "login", "fast", now_);
  now_ = now_ + std::chrono::seconds(1);
  for (int i = 0; i < 10; ++i) count(keys_, "login", "quiet", now_);
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[1].shown, "user=quiet");
  EXPECT_EQ(top[1].count, 10u);
}

// Two engines on one thread, whose clocks show different times.
TEST_F(Counting, IsNotLedAstrayByAnotherClock) {
  for (int i = 0; i < 100; ++i) count(keys_, "login", "late", now_ + std::chrono::hours(1000));
  for (int i = 0; i < 5000; ++i) count(keys_, "login", "early", now_);
  now_ = now_ + std::chrono::seconds(2);
  for (int i = 0; i < 4000; ++i) count(keys_, "login", "again", now_);
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 3u);
  EXPECT_NEAR(static_cast<double>(top[0].count), 5000, 200);
  EXPECT_EQ(top[1].count, 4000u);
  EXPECT_EQ(top[2].count, 100u);
}

// A day's traffic in small: seconds of little and of much, keys by the hundred, some of them
// refused far more than others. What is told of each stays within the bounds that are promised.
TEST(DeniedKeysProperty, NoCountIsTooLowNorTooHighByMoreThanItsErrorWhileAllAreCounted) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    DeniedKeys keys;
    keys.configure({.top_keys = 1000, .keys = policy::KeyForm::kPlain});
    std::map<std::string, std::uint64_t> truth;
    Instant now = next_start();
    const std::uint32_t users = 100u << random() % 6;
    for (int second = 0; second < 20; ++second, now = now + std::chrono::seconds(1)) {
      for (std::uint32_t left = random() % DeniedKeys::kExact; left > 0; --left) {
        const std::string user = std::to_string(random() % (1 + random() % users));
        count(keys, "login", user, now);
        ++truth["user=" + user];
      }
    }
    for (const DeniedKey& key : keys.top()) {
      EXPECT_GE(key.count, truth[key.shown]) << key.shown << ", seed " << seed;
      EXPECT_LE(key.count - key.error, truth[key.shown]) << key.shown << ", seed " << seed;
    }
  }
}

// The same where floods go beyond what is counted one by one: what a sample of so many can tell.
TEST(DeniedKeysProperty, AFloodsCountsAreNearTheTruthWhateverItsSizeAndShares) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    DeniedKeys keys;
    std::array<std::uint64_t, 4> truth{};
    Instant now = next_start();
    const std::uint32_t flood = 5000u << random() % 8;
    for (int second = 0; second < 3; ++second, now = now + std::chrono::seconds(1)) {
      for (std::uint32_t left = flood; left > 0; --left) {
        const std::size_t user = std::min<std::size_t>(random() % 6, 3);
        count(keys, "login", std::to_string(user), now);
        ++truth[user];
      }
    }
    for (const DeniedKey& key : keys.top()) {
      const auto real = static_cast<double>(truth[std::stoul(key.shown.substr(5))]);
      // Some 3,000 samples of equal weight or more in each second: 5 % is one deviation of the
      // rarest of these, at most.
      EXPECT_NEAR(static_cast<double>(key.count), real, 0.2 * real)
          << key.shown << ", seed " << seed;
      EXPECT_EQ(key.error, 0u);
    }
  }
}

// Threads that count while somebody looks: nothing is lost, and nothing falls.
TEST(DeniedKeysProperty, ThreadsLoseNothingWhileSomebodyLooks) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kUsers = 50;
  constexpr std::uint32_t kEach = 40;  // of each user by each thread: below kExact in all
  static_assert(kUsers * kEach < DeniedKeys::kExact);
  DeniedKeys keys;
  const Instant now = next_start();
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < kUsers * kEach; ++i) {
        count(keys, "login", std::to_string(i % kUsers), now);
      }
      --running;
    });
  }
  std::uint64_t before = 0;
  while (running > 0) {
    std::uint64_t sum = 0;
    for (const DeniedKey& key : keys.top()) sum += key.count;
    EXPECT_GE(sum, before);
    before = sum;
  }
  for (std::thread& thread : threads) thread.join();
  const auto top = keys.top();
  ASSERT_EQ(top.size(), kUsers);
  for (const DeniedKey& key : top) EXPECT_EQ(key.count, kThreads * kEach) << key.shown;
}

TEST_F(Counting, ShowsHashesInPlaceOfKeysWhereTold) {
  keys_.configure({.top_keys = 50, .keys = policy::KeyForm::kHashed});
  refuse("ann");
  refuse("bob");
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].shown.size(), 17u);
  EXPECT_EQ(top[0].shown[0], '#');
  EXPECT_NE(top[0].shown, top[1].shown);
  EXPECT_TRUE(top[0].parts.empty());
}

TEST_F(Counting, CountsNothingWhereKeysAreOff) {
  keys_.configure({.top_keys = 50, .keys = policy::KeyForm::kOff});
  refuse("ann");
  EXPECT_FALSE(keys_.any());
  EXPECT_TRUE(keys_.top().empty());
}

TEST_F(Counting, TellsAsManyAsAskedFor) {
  keys_.configure({.top_keys = 2, .keys = policy::KeyForm::kPlain});
  for (int i = 0; i < 5; ++i) refuse("user-" + std::to_string(i), i + 1);
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].shown, "user=user-4");
}

TEST_F(Counting, CutsLongKeysAndKeepsThemApart) {
  const std::string long_key(5000, 'x');
  refuse(long_key + "1", 2);
  refuse(long_key + "2");
  refuse(std::string(200, 'y') + "1");
  const auto top = keys_.top();
  ASSERT_EQ(top.size(), 3u);
  for (const DeniedKey& key : top) EXPECT_LT(key.shown.size(), 160u);
  EXPECT_NE(top[0].shown, top[1].shown);
}

}  // namespace
}  // namespace weir::engine
