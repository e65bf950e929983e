// A server that comes back, is not ready yet, or answers too late: nothing is counted twice,
// nothing that was kept is forgotten, and nobody waits.

#include <gtest/gtest.h>
#include <signal.h>

#include "base/metrics.h"
#include "redis/faults.h"

namespace weir {
namespace {

using namespace support;

std::uint64_t left(Runner& runner, Charge charge) {
  charge.cost = 0;
  runner.until_known(charge, seconds(10));
  return runner.charge(charge, wall_now()).verdict.remaining;
}

TEST(RedisRecovery, GoesOnCountingAfterARestartWithPersistence) {
  RedisServer server({"--appendonly", "yes"});
  Runner runner(hasty(tcp(server)));
  runner.wait_ready();
  EXPECT_LE(runner.until_known(bucket(10), seconds(10)), seconds(10));
  const std::uint64_t before = left(runner, bucket(10));
  server.stop();
  EXPECT_FALSE(runner.charge(bucket(10), wall_now()).known);
  server.start();
  // It knows no script any more; the calls are charged once all the same.
  EXPECT_EQ(left(runner, bucket(10)), before);
  EXPECT_EQ(runner.charge(bucket(10), wall_now()).verdict.remaining, before - 1);
  EXPECT_EQ(runner.charge(bucket(10), wall_now()).verdict.remaining, before - 2);
}

TEST(RedisRecovery, HoldsNobodyUpWhileTheServerLoadsItsData) {
  // Half a second of it, or more on a busy machine, in which it answers nothing else.
  RedisServer server({"--save", "3600 1", "--key-load-delay", "100",
                      "--loading-process-events-interval-bytes", "1024"});
  {
    RedisClient client(server.socket_path());
    client({"EVAL", "for i = 1, 3000 do redis.call('SET', 'filler' .. i, 'x') end", "0"});
    client({"SAVE"});
  }
  server.stop();
  server.start();
  metrics::Registry registry;
  store::RedisOptions options = hasty(tcp(server));
  options.timeout = milliseconds(500);  // it answers, that it loads, in between
  options.connect_timeout = seconds(5);
  options.registry = &registry;
  Runner runner(options);
  EXPECT_LE(runner.until_known(bucket(10), kPatience), kPatience);
  EXPECT_NE(registry.to_text().find("weir_store_errors_total{kind=\"loading\"}"),
            std::string::npos);
}

TEST(RedisRecovery, ChargesCallsThatWereAnsweredTooLateOnce) {
  RedisServer server;
  Runner runner(hasty(tcp(server)));
  runner.wait_ready();
  EXPECT_LE(runner.until_known(bucket(10), seconds(10)), seconds(10));
  const std::uint64_t before = left(runner, bucket(10));
  server.signal(SIGSTOP);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(runner.charge(bucket(10), wall_now()).known);
  server.signal(SIGCONT);
  EXPECT_EQ(left(runner, bucket(10)), before - 3);
}

TEST(RedisRecovery, HoldsNobodyUpWhereTheNameHasNoAddress) {
  Runner runner(hasty("redis://no-such-host.invalid"));
  int known = 0;
  expect_in_time(times(runner, bucket(10), 30, known));
  EXPECT_EQ(known, 0);
}

}  // namespace
}  // namespace weir
