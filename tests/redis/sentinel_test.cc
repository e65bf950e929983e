// Sentinel: the primary is found by its name, and followed when it changes.

#include <gtest/gtest.h>

#include "redis/faults.h"
#include "store/redis/sentinel_watch.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::Charge;
using support::kPatience;
using support::RedisClient;
using support::RedisServer;
using support::Runner;
using support::Sentineled;

Charge bucket() {
  static const Charge one = support::bucket(100, "c");
  return one;
}

store::RedisOptions options(const Sentineled& fleet) {
  store::RedisOptions options = support::patient(fleet.url());
  options.timeout = milliseconds(50);
  options.connect_timeout = milliseconds(500);
  return options;
}

bool wait_for_replica(Sentineled& fleet) {
  RedisClient primary(fleet.primary().socket_path());
  return primary({"WAIT", "1", "5000"}).integer() == 1;
}

// A connection of its own each time: a Sentinel ends those that are open when it changes a role.
bool is_primary(const RedisServer& server) {
  RedisClient client(server.socket_path());
  const auto role = client.try_send("ROLE\r\n");
  return role && role->at(0).text() == "master";
}

TEST(Sentinel, FollowsASwitchAtItsNotice) {
  Sentineled fleet;
  Runner runner(options(fleet));
  runner.until_known(bucket(), seconds(5));
  const std::uint64_t left = runner.charge(bucket(), support::wall_now()).verdict.remaining;
  ASSERT_TRUE(wait_for_replica(fleet));
  RedisClient sentinel(fleet.socket_path());
  // It must have heard of the replica's state first.
  ASSERT_TRUE(support::wait_until([&] {
    return !sentinel({"SENTINEL", "FAILOVER", "mymaster"}).is_error();
  }));
  ASSERT_TRUE(support::wait_until([&] { return is_primary(fleet.replica()); }));
  EXPECT_LE(runner.until_known(bucket(), kPatience), kPatience);
  // Calls now reach the new primary: what was used there is what was used before.
  ASSERT_TRUE(support::wait_until([&] {
    const auto answer = runner.charge(bucket(), support::wall_now());
    return answer.known && answer.verdict.remaining < left;
  }));
}

TEST(Sentinel, FindsThePromotedReplicaAfterThePrimaryWasKilled) {
  Sentineled fleet;
  Runner runner(options(fleet));
  runner.until_known(bucket(), seconds(5));
  runner.charge(bucket(), support::wall_now());
  ASSERT_TRUE(wait_for_replica(fleet));
  fleet.primary().stop();
  EXPECT_FALSE(runner.charge(bucket(), support::wall_now()).known);
  EXPECT_LE(runner.until_known(bucket(), kPatience), kPatience);
}

TEST(Sentinel, FindsTheNewPrimaryWhenTheOldOneIsDemoted) {
  Sentineled fleet;
  Runner runner(options(fleet));
  runner.until_known(bucket(), seconds(5));
  RedisClient primary(fleet.primary().socket_path());
  RedisClient replica(fleet.replica().socket_path());
  RedisClient sentinel(fleet.socket_path());
  ASSERT_TRUE(wait_for_replica(fleet));
  // Connections are kept open, so that only READONLY tells.
  replica({"REPLICAOF", "NO", "ONE"});
  primary({"REPLICAOF", "127.0.0.1", std::to_string(fleet.replica().port())});
  sentinel({"SENTINEL", "REMOVE", "mymaster"});
  sentinel({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(fleet.replica().port()),
            "1"});
  EXPECT_LE(runner.until_known(bucket(), kPatience), kPatience);
}

TEST(SentinelWatch, ReadsWhereASwitchLeads) {
  using store::redis::Address;
  using store::redis::switched_to;
  EXPECT_EQ(switched_to("m 10.0.0.1 6379 10.0.0.2 6380", "m"), (Address{"10.0.0.2", 6380}));
  EXPECT_FALSE(switched_to("other 10.0.0.1 6379 10.0.0.2 6380", "m").has_value());
  EXPECT_FALSE(switched_to("m 10.0.0.1 6379 10.0.0.2", "m").has_value());
  EXPECT_FALSE(switched_to("m 10.0.0.1 6379 10.0.0.2 x", "m").has_value());
  EXPECT_FALSE(switched_to("m a 1 b 70000", "m").has_value());
  EXPECT_FALSE(switched_to("", "m").has_value());
}

}  // namespace
}  // namespace weir
