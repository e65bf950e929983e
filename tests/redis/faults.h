// What the tests on real servers share, those of failures above all: a limit, a store in a hurry,
// and how long decisions may take.
//
// THREADS: one.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "redis/fleet.h"
#include "redis/runner.h"
#include "support/redis_server.h"

namespace weir::support {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::Answer;
using store::Charge;

inline const limit::Rule& rule_of(const Numbers& numbers) {
  static std::deque<limit::Rule> rules;
  rules.push_back(*limit::Rule::make(numbers));
  return rules.back();
}

inline Charge charge_of(const limit::Rule& rule, std::string_view counter, std::string_view key,
                        std::uint64_t cost = 1) {
  return {.rule = &rule, .counter = counter, .key = key, .cost = cost};
}

inline Charge bucket(std::uint64_t burst, std::string_view counter = "bucket") {
  return charge_of(rule_of(TokenBucket{{1, std::chrono::hours(1)}, burst}), counter, "1:k,");
}

inline store::RedisOptions hasty(std::string url) {
  store::RedisOptions options;
  options.url = std::move(url);
  options.timeout = milliseconds(20);
  options.connect_timeout = milliseconds(300);
  options.deny_cache = Duration(0);
  return options;
}

inline std::string tcp(const RedisServer& server) {
  return "redis://127.0.0.1:" + std::to_string(server.port());
}

// What `count` decisions in a row take, sorted.
inline std::vector<Duration> times(Runner& runner, const Charge& charge, int count, int& known) {
  std::vector<Duration> took;
  for (int i = 0; i < count; ++i) {
    const auto asked = runner.charge(std::vector{charge}, wall_now());
    took.push_back(asked.took);
    known += asked.answers.front().known ? 1 : 0;
  }
  std::sort(took.begin(), took.end());
  return took;
}

// Promised: median at most timeout + 2 ms, nearly all at most + 25 ms; more where a machine that
// other tests keep busy wakes us late.
inline void expect_in_time(const std::vector<Duration>& took) {
  EXPECT_LE(took[took.size() / 2], milliseconds(22 + 10));
  EXPECT_LE(took[took.size() * 9 / 10], milliseconds(45 + 40));
}

}  // namespace weir::support
