// A Cluster: every key where it belongs, limits across slots, slots that move under way, a primary
// that dies.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <thread>

#include "redis/faults.h"
#include "store/redis/key_name.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using store::Charge;
using support::charge_of;
using support::kPatience;
using support::RedisClient;
using support::RedisCluster;
using support::rule_of;
using support::Runner;

std::uint16_t slot_of_key(std::string_view key) {
  std::string name;
  store::redis::append_key_name(name, "weir:", "c", "tb", key);
  return store::redis::slot_of(name);
}

TEST(RedisCluster, DecidesEveryKeyOfEveryAlgorithmOnWhicheverNode) {
  RedisCluster cluster(false);
  Runner runner(support::patient(cluster.url()));
  runner.wait_all_ready();
  for (const Numbers& numbers : std::vector<Numbers>{
           TokenBucket{{1, hours(1)}, 2}, LeakyBucket{{1, hours(1)}, 1},
           FixedWindow{2, Duration(hours(1000)), Align::kFirst}, SlidingLog{2, hours(1)},
           SlidingCounter{2, hours(1), Align::kFirst}, Concurrency{2, hours(1)}}) {
    const limit::Rule& rule = rule_of(numbers);
    constexpr std::string_view kBraces[] = {"a{b}c", "}{", "{}", "{", ""};
    for (int i = 0; i < 1000; ++i) {
      const std::string key(std::string(kBraces[i % 5]) + std::to_string(i) +
                            std::to_string(numbers.index()));
      const auto asked = runner.charge(
          {charge_of(rule, "a", key), charge_of(rule, "b", key), charge_of(rule, "c", key)},
          support::wall_now());
      ASSERT_TRUE(asked.admission.admitted) << i;
      for (const store::Answer& answer : asked.answers) {
        ASSERT_TRUE(answer.known);
        ASSERT_EQ(answer.verdict.remaining, 1u);
      }
    }
  }
}

TEST(RedisCluster, GivesBackAcrossSlotsWhatAnotherLimitRefused) {
  RedisCluster cluster(false);
  Runner runner(support::patient(cluster.url()));
  runner.wait_ready();
  const limit::Rule& global = rule_of(TokenBucket{{1, hours(1)}, 100});
  const limit::Rule& each = rule_of(TokenBucket{{1, hours(1)}, 1});
  const limit::Rule& watched = rule_of(TokenBucket{{1, hours(1)}, 50});
  Charge shadow = charge_of(watched, "shadow", "1:s,");
  shadow.shadow = true;
  int admitted = 0;
  for (int i = 0; i < 100; ++i) {
    const auto asked =
        runner.charge({charge_of(global, "global", ""), charge_of(each, "each", "1:x,"), shadow},
                      support::wall_now());
    admitted += asked.admission.admitted ? 1 : 0;
    EXPECT_TRUE(asked.answers[2].known);
  }
  EXPECT_EQ(admitted, 1);
  Charge peek = charge_of(global, "global", "");
  peek.cost = 0;
  EXPECT_EQ(runner.charge(peek, support::wall_now()).verdict.remaining, 99u);
  shadow.cost = 0;
  EXPECT_EQ(runner.charge(shadow, support::wall_now()).verdict.remaining, 49u);
}

TEST(RedisCluster, TellsAnotherInstanceNothingOfWhatARefusalTook) {
  RedisCluster cluster(false);
  Runner one(support::patient(cluster.url()));
  Runner other(support::patient(cluster.url()));
  one.wait_all_ready();
  other.wait_all_ready();
  const limit::Rule& wide = rule_of(SlidingLog{3, hours(1)});
  const limit::Rule& narrow = rule_of(TokenBucket{{1, hours(1)}, 1});
  std::deque<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    const std::string& key = keys.emplace_back("1:" + std::to_string(i) + ",");
    const std::string& other_key = keys.emplace_back("n" + key);  // in another slot, mostly
    std::vector<Charge> both{charge_of(wide, "wide", key), charge_of(narrow, "narrow", other_key)};
    both[0].cost = 3;
    both[1].cost = 2;
    ASSERT_FALSE(one.charge(both, support::wall_now()).admission.admitted);
    ASSERT_TRUE(other.charge(both[0], support::wall_now()).verdict.allowed()) << i;
  }
}

TEST(RedisCluster, AdmitsExactlyTheLimitWhileAHundredSlotsMove) {
  constexpr std::size_t kSlotsToMove = 100;
  constexpr int kLimit = 5;
  RedisCluster cluster(false);
  Runner runner(support::patient(cluster.url()));
  runner.wait_ready();
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, kLimit});
  std::map<int, std::string> keys;  // by slot, all on the first node
  for (int i = 0; keys.size() < kSlotsToMove; ++i) {
    const std::string key = "1:" + std::to_string(i) + ",";
    if (slot_of_key(key) < 16384 / RedisCluster::kPrimaries) keys[slot_of_key(key)] = key;
  }
  // A slot moves at every fifth call and more, so that all of it goes on under load.
  std::atomic<std::size_t> calls{0};
  std::thread mover([&] {
    std::size_t moved = 0;
    for (const auto& [slot, key] : keys) {
      support::wait_until([&] { return calls >= 5 * moved; }, 6000);
      cluster.move_slot(slot, 0, 1);
      ++moved;
    }
  });
  int admitted = 0;
  int unknown = 0;
  const auto started = std::chrono::steady_clock::now();
  // Two limits of equal keys: while a slot moves, they stand apart for a moment (TRYAGAIN).
  for (int round = 0; round < 2 * kLimit; ++round) {
    for (const auto& [slot, key] : keys) {
      std::this_thread::sleep_until(started + milliseconds(2 * calls));  // the load: 500 a second
      const auto asked = runner.charge({charge_of(rule, "c", key), charge_of(rule, "d", key)},
                                       support::wall_now());
      unknown += asked.answers[0].known && asked.answers[1].known ? 0 : 1;
      admitted += asked.admission.admitted ? 1 : 0;
      ++calls;
    }
  }
  mover.join();
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(admitted, static_cast<int>(kSlotsToMove) * kLimit);
  RedisClient target(cluster.node(1).socket_path());
  for (const auto& [slot, key] : keys) {
    ASSERT_EQ(target({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer(), 2) << slot;
  }
}

TEST(RedisCluster, GoesOnAfterAPrimaryWasKilledAndItsReplicaPromoted) {
  RedisCluster cluster(true);
  store::RedisOptions options = support::patient(cluster.url());
  options.timeout = milliseconds(50);
  options.connect_timeout = milliseconds(500);
  Runner runner(options);
  runner.wait_ready();
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, 50});
  std::string lost_key;
  std::string kept_key;
  for (int i = 0; lost_key.empty() || kept_key.empty(); ++i) {
    const std::string key = "1:" + std::to_string(i) + ",";
    (slot_of_key(key) < 16384 / 3 ? lost_key : kept_key) = key;
  }
  const Charge lost = charge_of(rule, "c", lost_key);
  const Charge kept = charge_of(rule, "c", kept_key);
  int admitted = 0;
  for (int i = 0; i < 20; ++i) {
    if (runner.charge(lost, support::wall_now()).verdict.allowed()) ++admitted;
  }
  ASSERT_TRUE(runner.charge(kept, support::wall_now()).known);
  RedisClient primary(cluster.node(0).socket_path());
  primary({"WAIT", "1", "2000"});  // so that nothing is lost in replication
  cluster.node(0).stop();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(runner.charge(kept, support::wall_now()).known) << i;
  EXPECT_LE(runner.until_known(lost, kPatience), kPatience);
  // The call that found it again was charged too, or was a peek of the same cost: count from there.
  for (int i = 0; i < 100; ++i) {
    const store::Answer answer = runner.charge(lost, support::wall_now());
    if (answer.known && answer.verdict.allowed()) ++admitted;
  }
  EXPECT_LE(admitted, 50);
  EXPECT_GE(admitted, 45) << "calls whose outcome was not known may have been charged";
}

// The replica's link is cut before the last calls, so that it knows nothing of them.
TEST(RedisCluster, AdmitsAtMostWhatWasLostInReplicationMoreThanTheLimit) {
  constexpr int kLimit = 50;
  constexpr int kLost = 10;
  RedisCluster cluster(true);
  store::RedisOptions options = support::patient(cluster.url());
  options.timeout = milliseconds(200);
  options.connect_timeout = milliseconds(500);
  Runner runner(options);
  runner.wait_all_ready();
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, kLimit});
  std::string key;
  for (int i = 0; key.empty() || slot_of_key(key) >= 16384 / 3; ++i) {
    key = "1:" + std::to_string(i) + ",";
  }
  const Charge charge = charge_of(rule, "c", key);
  int admitted = 0;
  const auto call = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const store::Answer answer = runner.charge(charge, support::wall_now());
      admitted += answer.known && answer.verdict.allowed() ? 1 : 0;
    }
  };
  call(20);
  RedisClient primary(cluster.node(0).socket_path());
  ASSERT_EQ(primary({"WAIT", "1", "5000"}).integer(), 1);
  // A password that the replica does not know keeps it from coming back.
  primary({"CONFIG", "SET", "requirepass", "unknown"});
  primary({"CLIENT", "KILL", "TYPE", "replica"});
  call(kLost);
  EXPECT_EQ(admitted, 20 + kLost);
  cluster.node(0).stop();
  // Found again by peeks, which are charged nothing.
  Charge peek = charge;
  peek.cost = 0;
  EXPECT_LE(runner.until_known(peek, kPatience), kPatience);
  call(100);
  EXPECT_GT(admitted, kLimit) << "something was lost";
  EXPECT_LE(admitted, kLimit + kLost);
}

TEST(RedisCluster, HoldsNobodyUpWhileAClusterThatWantsAllItsSlotsIsDown) {
  RedisCluster cluster(false);
  for (int i = 0; i < RedisCluster::kPrimaries; ++i) {
    RedisClient node(cluster.node(i).socket_path());
    node({"CONFIG", "SET", "cluster-require-full-coverage", "yes"});
  }
  store::RedisOptions options = support::patient(cluster.url());
  options.timeout = milliseconds(50);
  options.connect_timeout = milliseconds(500);
  Runner runner(options);
  runner.wait_all_ready();
  cluster.node(0).stop();
  for (int i : {1, 2}) {
    ASSERT_TRUE(support::wait_until([&] {
      RedisClient node(cluster.node(i).socket_path());
      return std::string(node({"CLUSTER", "INFO"}).text()).find("cluster_state:fail") !=
             std::string::npos;
    }));
  }
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, 100});
  std::deque<std::string> keys;
  for (int i = 0; i < 30; ++i) {
    const std::string& key = keys.emplace_back("1:" + std::to_string(i) + ",");
    const auto asked = runner.charge(std::vector{charge_of(rule, "c", key)}, support::wall_now());
    EXPECT_FALSE(asked.answers[0].known);
    EXPECT_LE(asked.took, milliseconds(50 + 25 + 100));
  }
  for (int i : {1, 2}) {
    RedisClient node(cluster.node(i).socket_path());
    node({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
  }
  // The slots that are served decide again; the others do not, and hold nobody up.
  for (const std::string& key : keys) {
    const bool served = slot_of_key(key) >= 16384 / RedisCluster::kPrimaries;
    const Charge charge = charge_of(rule, "c", key);
    if (served) {
      EXPECT_LE(runner.until_known(charge, kPatience), kPatience);
    } else {
      EXPECT_FALSE(runner.charge(charge, support::wall_now()).known);
    }
  }
}

TEST(RedisCluster, SaysSoWhenTheUrlNamesASingleServer) {
  RedisCluster cluster(false);
  store::RedisOptions options =
      support::patient("redis://127.0.0.1:" + std::to_string(cluster.node(0).port()));
  options.timeout = milliseconds(20);
  Runner runner(options);
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, 5});
  EXPECT_TRUE(support::wait_until([&] {
    runner.charge(charge_of(rule, "c", "1:k,"), support::wall_now());
    return runner.store().trouble().find("redis+cluster://") != std::string::npos;
  }));
}

}  // namespace
}  // namespace weir
