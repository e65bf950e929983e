// What a bucket keeps when its numbers change, on a real server: by the server's clock, and also
// while instances of either numbers ask for it at once.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "redis/faults.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using store::Charge;
using support::charge_of;
using support::RedisServer;
using support::rule_of;
using support::Runner;
using support::tcp;

// An instance whose own clock is a day ahead.
Instant ahead() {
  return support::wall_now() + Duration(hours(24));
}

TEST(RedisNumbers, WhatIsLeftStaysLeftWhateverTheClockOfTheInstance) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  for (const bool keeps_time : {false, true}) {
    const std::string key = keeps_time ? "1:t," : "1:k,";
    const auto bucket = [&](std::uint64_t burst) -> const limit::Rule& {
      return rule_of(TokenBucket{{1, seconds(600)}, burst, keeps_time});
    };
    ASSERT_TRUE(runner.charge(charge_of(bucket(10), "c", key, 10), ahead()).verdict.allowed());
    const std::uint64_t kept = keeps_time ? 10 : 0;
    const auto more = charge_of(bucket(20), "c", key, kept + 1);
    EXPECT_FALSE(runner.charge(more, ahead()).verdict.allowed()) << keeps_time;
    EXPECT_EQ(runner.charge(more, ahead()).verdict.remaining, kept) << keeps_time;
  }
}

TEST(RedisNumbers, TwoSetsOfNumbersOnOneHotKeyDecideEveryCall) {
  constexpr int kCalls = 2000;
  constexpr int kAtOnce = 50;
  RedisServer server;
  std::deque<Runner> instances;
  for (int i = 0; i < 2; ++i) instances.emplace_back(support::patient(tcp(server))).wait_ready();
  for (const bool keeps_time : {false, true}) {
    const std::string key = keeps_time ? "1:t," : "1:k,";
    std::vector<Charge> charges;
    for (std::uint64_t burst : {100'000, 100'001}) {
      const TokenBucket numbers{{100, seconds(1)}, burst, keeps_time};
      charges.push_back(charge_of(rule_of(numbers), "c", key));
    }
    std::vector<std::vector<store::Answer>> answers(kCalls, std::vector<store::Answer>(1));
    std::atomic<int> ended{0};
    for (int i = 0; i < kCalls; ++i) {
      ASSERT_TRUE(support::wait_until([&] { return i - ended < kAtOnce; }));
      const std::size_t which = static_cast<std::size_t>(i) % 2;
      instances[which].store().charge({&charges[which], 1}, support::wall_now(),
                                      answers[static_cast<std::size_t>(i)],
                                      [&ended](store::Admission) { ++ended; });
    }
    ASSERT_TRUE(support::wait_until([&] { return ended == kCalls; }));
    for (const auto& answer : answers) ASSERT_TRUE(answer.front().known);
  }
}

}  // namespace
}  // namespace weir
