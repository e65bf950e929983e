// Many threads on one memory store: meant for the sanitizers as much as for its own expectations.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/memory/memory_store.h"

namespace weir::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = at_ns(1'767'225'600'000'000'000);
constexpr int kThreads = 4;

template <typename Body>
void on_threads(Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
  for (auto& thread : threads) thread.join();
}

std::vector<limit::Rule> rules_of_every_kind() {
  std::vector<limit::Rule> rules;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    for (const Numbers& numbers :
         {Numbers(TokenBucket{Rate{n, seconds(1)}, n + 1}),
          Numbers(LeakyBucket{Rate{n, seconds(1)}, n}), Numbers(FixedWindow{n, milliseconds(50)}),
          Numbers(SlidingLog{n + 5, milliseconds(20)}), Numbers(Concurrency{n + 5, seconds(1)}),
          Numbers(SlidingCounter{n, milliseconds(20)}), Numbers(Unlimited{})}) {
      rules.push_back(*limit::Rule::make(numbers));
    }
  }
  return rules;
}

// Calls, refunds, resets, reloads and sweeps, on a store far too small, under wild clocks.
class Chaos {
 public:
  Chaos(MemoryStore& store, const std::vector<limit::Rule>& rules, unsigned seed)
      : store_(store), rules_(rules), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(kStart + milliseconds(i / 10 + below(5)));
  }

 private:
  int below(unsigned n) { return static_cast<int>(random_() % n); }

  void step(Instant now) {
    const std::string names[] = {"a", "b", "c"};
    std::vector<std::string> keys;
    for (int i = 0; i < 3; ++i) keys.push_back(std::to_string(below(100)));
    std::vector<Charge> charges;
    for (int i = 0; i < 1 + below(3); ++i) {
      const auto& rule = rules_[static_cast<std::size_t>(below(unsigned(rules_.size())))];
      charges.push_back(
          {&rule, names[i], keys[std::size_t(i)], std::uint64_t(below(3)), below(4) == 0});
    }
    const int what = below(20);
    if (what == 0) return store_.reset(charges, nullptr);
    if (what == 1) return static_cast<void>(store_.sweep(now));
    if (what <= 4) return store_.refund(charges, now);
    std::vector<Answer> answers(charges.size());
    store_.charge_now(charges, now, answers);
    for (const Answer& answer : answers) EXPECT_LE(answer.verdict.remaining, answer.verdict.quota);
  }

  MemoryStore& store_;
  const std::vector<limit::Rule>& rules_;
  std::mt19937 random_;
};

TEST(MemoryStoreThreads, SurviveChaosWithinTheirBounds) {
  const std::vector<limit::Rule> rules = rules_of_every_kind();
  MemoryStore store(MemoryOptions{40, 60});
  on_threads([&](int t) { Chaos(store, rules, unsigned(t)).run(4000); });
  EXPECT_LE(store.keys(), 40u);
  EXPECT_LE(store.marks(), 60u + 2 * 40u);
  EXPECT_LE(store.rules(), rules.size());
  store.sweep(kStart + seconds(1000));
  EXPECT_EQ(store.keys(), 0u);
  EXPECT_EQ(store.marks(), 0u);
}

TEST(MemoryStoreThreads, SurviveChaosOverManyShards) {
  const std::vector<limit::Rule> rules = rules_of_every_kind();
  MemoryStore store(MemoryOptions{100'000});
  on_threads([&](int t) { Chaos(store, rules, unsigned(100 + t)).run(4000); });
  EXPECT_LE(store.keys(), 300u);
  EXPECT_EQ(store.evictions(), 0u);
}

TEST(MemoryStoreThreads, ForgetRulesWhileOthersBringNewOnes) {
  MemoryStore store;
  on_threads([&](int t) {
    for (std::uint64_t i = 1; i <= 2000; ++i) {
      const std::uint64_t burst = i * kThreads + static_cast<std::uint64_t>(t);
      const auto rule = *limit::Rule::make(TokenBucket{Rate{1, seconds(1)}, burst});
      const std::string key = std::to_string(i % 10);
      const Charge charge{&rule, "limit", key};
      Answer answer;
      store.charge_now({&charge, 1}, kStart, {&answer, 1});
    }
  });
  EXPECT_LE(store.rules(), 3000u);
  EXPECT_EQ(store.keys(), 10u);
}

// A key that is swept while it is hit loses no hit.
TEST(MemoryStoreThreads, ASweepLosesNoCall) {
  MemoryStore store;
  const auto rule = *limit::Rule::make(TokenBucket{Rate{1, milliseconds(1)}, 1});
  std::atomic<int> admitted{0};
  on_threads([&](int t) {
    for (int i = 0; i < 2000; ++i) {
      const Instant now = kStart + Duration(i * 100'000);  // ten tries a token
      if (t == 0) {
        store.sweep(now);
        continue;
      }
      const Charge charge{&rule, "limit", "hot"};
      Answer answer;
      admitted += store.charge_now({&charge, 1}, now, {&answer, 1}) ? 1 : 0;
    }
  });
  EXPECT_LE(admitted, 200);
  EXPECT_GE(admitted, 1);
}

// The first thread of a store takes without a locked instruction until others come: with that each
// of these stores begins.
TEST(MemoryStoreThreads, AdmitExactlyTheBurstWhileAStoreComesToBeShared) {
  const auto rule = *limit::Rule::make(TokenBucket{Rate{1, std::chrono::hours(24)}, 1000});
  for (int round = 0; round < 30; ++round) {
    MemoryStore store;
    std::atomic<int> admitted{0};
    std::barrier together(kThreads);
    on_threads([&](int t) {
      together.arrive_and_wait();
      for (int i = 0; i < 500; ++i) {
        const Charge charge{&rule, "limit", "hot"};
        Answer answer;
        admitted += store.charge_now({&charge, 1}, kStart, {&answer, 1}) ? 1 : 0;
        if (t == 0 && i % 100 == 0) store.sweep(kStart);
      }
    });
    ASSERT_EQ(admitted, 1000) << "round " << round;
  }
}

// Eight threads would be eight limits, if each counted for itself.
TEST(MemoryStoreThreads, AreOneLimitTogetherForEveryAlgorithm) {
  const Numbers all[] = {TokenBucket{Rate{1, std::chrono::hours(1)}, 100},
                         LeakyBucket{Rate{1, std::chrono::hours(1)}, 99},
                         FixedWindow{100, std::chrono::hours(1)},
                         SlidingLog{100, std::chrono::hours(1)},
                         SlidingCounter{100, std::chrono::hours(1)},
                         Concurrency{100, std::chrono::hours(1)}};
  for (const Numbers& numbers : all) {
    MemoryStore store;
    const auto rule = *limit::Rule::make(numbers);
    std::atomic<int> admitted{0};
    on_threads([&](int) {
      for (int i = 0; i < 200; ++i) {
        const Charge charge{&rule, "limit", "hot"};
        Answer answer;
        admitted += store.charge_now({&charge, 1}, kStart, {&answer, 1}) ? 1 : 0;
      }
    });
    EXPECT_EQ(admitted, 100) << "algorithm " << numbers.index();
  }
}

}  // namespace
}  // namespace weir::store
