// Properties that hold for many callers at once on a Cluster, for every algorithm: what several
// instances admit together is what the oracle admits; a denial leaves every counter bit for bit as
// it was; a charge and its refund leave it as if neither had been.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "limit/rule.h"
#include "oracle/generate.h"
#include "oracle/model.h"
#include "redis/fleet.h"
#include "redis/runner.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using store::Charge;
using support::Asked;
using support::RedisClient;
using support::RedisCluster;
using support::Runner;

constexpr int kCallers = 6;

// Instances of one fleet; `fixed`: every call is decided at the moment that it hands in.
struct Fleet {
  explicit Fleet(bool fixed) {
    for (int i = 0; i < 2; ++i) {
      store::RedisOptions options = support::patient(cluster.url());
      options.time_from_caller = fixed;
      instances.emplace_back(options).wait_all_ready();
    }
  }

  RedisCluster cluster{/*replicas=*/false};
  std::deque<Runner> instances;
};

Fleet& fleet() {
  static Fleet fleet(/*fixed=*/false);
  return fleet;
}
Fleet& fleet_at_a_fixed_time() {
  static Fleet fleet(/*fixed=*/true);
  return fleet;
}

// `body(instance, generate)` on each of the callers' threads.
template <typename Body>
void on_callers(Fleet& fleet, Body body) {
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&fleet, i, &body] {
      oracle::Generator generate(oracle::run_seed() + static_cast<std::uint64_t>(i));
      body(fleet.instances[static_cast<std::size_t>(i) % fleet.instances.size()], generate);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

Numbers numbers_of(Algorithm algorithm, std::uint64_t quota, Duration window) {
  const Rate rate{quota, window};
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucket{rate, quota};
    case Algorithm::kLeakyBucket:
      return LeakyBucket{rate, quota - 1};
    case Algorithm::kFixedWindow:
      return FixedWindow{quota, window, Align::kEpoch};
    case Algorithm::kSlidingLog:
      return SlidingLog{quota, window};
    case Algorithm::kSlidingCounter:
      return SlidingCounter{quota, window, Align::kEpoch};
    default:
      return Concurrency{quota, window};
  }
}

// What stands under every key that names `counter`, as bytes.
std::map<std::string, std::string> stored(RedisCluster& cluster, std::string_view counter) {
  std::map<std::string, std::string> all;
  for (int i = 0; i < RedisCluster::kPrimaries; ++i) {
    RedisClient node(cluster.node(i).socket_path());
    std::vector<std::string> names;
    const resp::Reply keys = node({"KEYS", "*" + std::string(counter) + "*"});
    for (resp::Reply key = keys.first(); key.valid(); key = key.next()) {
      names.emplace_back(key.text());
    }
    for (const std::string& name : names) all[name] = node({"DUMP", name}).text();
  }
  return all;
}

std::string show(const Verdict& v) {
  return "left " + std::to_string(v.remaining) + " retry " + std::to_string(v.retry_after.count()) +
         " reset " + std::to_string(v.reset_after.count());
}

class ClusterProperties : public testing::TestWithParam<Algorithm> {
 protected:
  std::string name(std::string_view what) const {
    return std::string(what) + std::string(oracle::name_of(GetParam()));
  }
  std::string replay() const { return "WEIR_SEED=" + std::to_string(oracle::run_seed()); }
};

// On the server's clock. The other limit has the script tell when it decided.
TEST_P(ClusterProperties, WhatAllInstancesAdmitTheOracleAdmits) {
  SCOPED_TRACE(replay());
  const Numbers numbers = numbers_of(GetParam(), 5, milliseconds(20));
  const limit::Rule rule = *limit::Rule::make(numbers);
  const limit::Rule wide = *limit::Rule::make(SlidingCounter{1'000'000, hours(1)});
  const std::string counter = name("together");
  struct Admitted {
    Instant at;
    std::uint64_t cost;
  };
  std::mutex mutex;
  std::vector<Admitted> admitted;
  on_callers(fleet(), [&](Runner& instance, oracle::Generator& generate) {
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t cost = 1 + generate.below(3);
      const Asked asked = instance.charge({{&rule, counter, "1:k,", cost}, {&wide, "wide", "1:k,"}},
                                          support::wall_now());
      ASSERT_TRUE(asked.answers[0].known && asked.answers[1].known);
      if (!asked.admission.admitted) continue;
      const std::lock_guard lock(mutex);
      admitted.push_back({asked.admission.at, cost});
    }
  });
  std::stable_sort(admitted.begin(), admitted.end(), [](const Admitted& a, const Admitted& b) {
    return a.at.steady_ns < b.at.steady_ns;
  });
  ASSERT_GT(admitted.size(), 5u);
  const auto model = oracle::make_model(numbers);
  for (const Admitted& one : admitted) ASSERT_TRUE(model->ask(one.cost, one.at, true).allowed());
}

TEST_P(ClusterProperties, NoDenialLeavesATrace) {
  SCOPED_TRACE(replay());
  const limit::Rule rule = *limit::Rule::make(numbers_of(GetParam(), 5, hours(2)));
  const std::string full = name("full");
  const std::string half = name("half");
  const Instant now = support::wall_now();
  Fleet& fleet = fleet_at_a_fixed_time();
  // In different slots, so that what one takes is given back where the other refuses.
  ASSERT_TRUE(fleet.instances[0].charge(Charge{&rule, full, "1:k,", 5}, now).verdict.allowed());
  ASSERT_TRUE(fleet.instances[0].charge(Charge{&rule, half, "1:other,", 2}, now).verdict.allowed());
  const auto before = stored(fleet.cluster, full);
  ASSERT_EQ(before.size(), 1u);
  const Charge peek{&rule, half, "1:other,", 0};
  const std::string half_before = show(fleet.instances[0].charge(peek, now).verdict);
  on_callers(fleet, [&](Runner& instance, oracle::Generator& generate) {
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t cost = 1 + generate.below(6);
      const Asked asked = instance.charge(
          {{&rule, full, "1:k,", cost}, {&rule, half, "1:other,", 1 + generate.below(3)}}, now);
      ASSERT_FALSE(asked.admission.admitted);
      ASSERT_TRUE(asked.answers[0].known);
      ASSERT_FALSE(asked.answers[0].verdict.allowed());
    }
  });
  EXPECT_EQ(stored(fleet.cluster, full), before);
  EXPECT_EQ(show(fleet.instances[0].charge(peek, now).verdict), half_before);
}

TEST_P(ClusterProperties, ARefundUndoesItsChargeWhoeverElseCalls) {
  SCOPED_TRACE(replay());
  const limit::Rule rule = *limit::Rule::make(numbers_of(GetParam(), 20, hours(2)));
  const std::string counter = name("undone");
  const Instant now = support::wall_now();
  Fleet& fleet = fleet_at_a_fixed_time();
  fleet.instances[0].charge(Charge{&rule, counter, "1:k,", 3}, now);
  const Charge peek{&rule, counter, "1:k,", 0};
  const std::string before = show(fleet.instances[0].charge(peek, now).verdict);
  on_callers(fleet, [&](Runner& instance, oracle::Generator& generate) {
    for (int i = 0; i < 60; ++i) {
      Charge charge{&rule, counter, "1:k,", 1 + generate.below(4)};
      const Asked asked = instance.charge(std::vector{charge}, now);
      if (!asked.admission.admitted) continue;
      charge.charged_at = now;
      instance.store().refund({&charge, 1}, now);
    }
  });
  // The last refunds may still be under way.
  EXPECT_TRUE(support::wait_until([&] {
    return show(fleet.instances[0].charge(peek, now).verdict) == before;
  })) << show(fleet.instances[0].charge(peek, now).verdict)
      << ", was " << before;
}

INSTANTIATE_TEST_SUITE_P(All, ClusterProperties,
                         testing::Values(Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                         Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                         Algorithm::kSlidingCounter, Algorithm::kConcurrency),
                         [](const testing::TestParamInfo<Algorithm>& tested) {
                           return std::string(oracle::name_of(tested.param));
                         });

}  // namespace
}  // namespace weir
