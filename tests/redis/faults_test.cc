// What goes wrong with one server: it restarts, forgets scripts, stands still, is not there, speaks
// nonsense. Every decision ends in time, none is charged twice, and all is well again soon after
// the server is.

#include "redis/faults.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "base/metrics.h"

namespace weir {
namespace {

using namespace support;

TEST(RedisFaults, CountsOneCallOnceWhenTheServerForgetsItsScripts) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  RedisClient client(server.socket_path());
  const Charge charge = bucket(10);
  for (std::uint64_t left : {9, 8, 7}) {
    EXPECT_EQ(runner.charge(charge, support::wall_now()).verdict.remaining, left);
  }
  client({"SCRIPT", "FLUSH"});
  for (std::uint64_t left : {6, 5, 4}) {
    EXPECT_EQ(runner.charge(charge, support::wall_now()).verdict.remaining, left);
  }
}

// Else the first calls, which all wait for the connection, are decided after those whose script
// another instance has made known.
TEST(RedisFaults, KnowsTheScriptsBeforeItsFirstCall) {
  RedisServer server;
  RedisClient client(server.socket_path());
  Runner runner(support::patient(tcp(server)));
  const Charge log{.rule = &rule_of(SlidingLog{3, seconds(10)}), .counter = "log", .key = "1:k,"};
  const Instant now = support::wall_now();
  EXPECT_TRUE(runner.charge(bucket(10), now).known);
  EXPECT_TRUE(runner.charge(log, now).known);
  runner.correct({log}, std::nullopt, now);
  const std::string stats(client({"INFO", "commandstats"}).text());
  EXPECT_NE(stats.find("cmdstat_evalsha:calls=3,"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_eval:"), std::string::npos) << stats;
}

TEST(RedisFaults, CountsFiftyCallersOnceEachWhileScriptsAreForgotten) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  RedisClient client(server.socket_path());
  const Charge charge = bucket(1000);
  std::vector<std::thread> callers;
  std::atomic<int> admitted{0};
  for (int i = 0; i < 50; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 10; ++call) {
        const Answer answer = runner.charge(charge, support::wall_now());
        if (answer.known && answer.verdict.allowed()) ++admitted;
      }
    });
  }
  for (int i = 0; i < 20; ++i) client({"SCRIPT", "FLUSH"});
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(admitted, 500);
  EXPECT_EQ(runner.charge(charge, support::wall_now()).verdict.remaining, 499u);
}

TEST(RedisFaults, AdmitsExactlyTheLimitToManyInstancesAtOnce) {
  RedisServer server;
  for (const Numbers& numbers :
       std::vector<Numbers>{TokenBucket{{1, std::chrono::hours(1)}, 100},
                            LeakyBucket{{1, std::chrono::hours(1)}, 99},
                            FixedWindow{100, Duration(std::chrono::hours(1000)), Align::kFirst},
                            SlidingLog{100, std::chrono::hours(1)},
                            SlidingCounter{100, std::chrono::hours(1), Align::kFirst},
                            Concurrency{100, std::chrono::hours(1)}}) {
    Runner instances[3] = {Runner(support::patient(tcp(server))),
                           Runner(support::patient(tcp(server))),
                           Runner(support::patient(tcp(server)))};
    const std::string counter = "hammer" + std::to_string(numbers.index());
    const Charge charge{.rule = &rule_of(numbers), .counter = counter, .key = ""};
    std::atomic<int> admitted{0};
    std::vector<std::thread> callers;
    for (Runner& instance : instances) {
      instance.wait_ready();
      for (int i = 0; i < 3; ++i) {
        callers.emplace_back([&] {
          // Their clocks are an hour apart; the server's decides.
          const Instant now = support::wall_now() + std::chrono::hours(&instance - instances);
          for (int call = 0; call < 40; ++call) {
            if (instance.charge(charge, now).verdict.allowed()) ++admitted;
          }
        });
      }
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(admitted, 100) << numbers.index();
  }
}

TEST(RedisFaults, EndsEveryCallInTimeWhenNobodyListens) {
  const int port = support::free_port();
  Runner runner(hasty("redis://127.0.0.1:" + std::to_string(port)));
  int known = 0;
  const auto took = times(runner, bucket(10), 60, known);
  EXPECT_EQ(known, 0);
  expect_in_time(took);
  EXPECT_LE(took[took.size() / 2], milliseconds(5)) << "the breaker is open by then";
}

TEST(RedisFaults, EndsEveryCallInTimeWhenTheServerStandsStillAndIsBackSoonAfterIt) {
  RedisServer server;
  metrics::Registry registry;
  store::RedisOptions options = hasty(tcp(server));
  options.registry = &registry;
  Runner runner(options);
  runner.wait_ready();
  const Charge charge = bucket(100'000);
  EXPECT_TRUE(runner.charge(charge, support::wall_now()).known);
  server.signal(SIGSTOP);
  int known = 0;
  const auto took = times(runner, charge, 60, known);
  EXPECT_EQ(known, 0);
  expect_in_time(took);
  EXPECT_LE(took[took.size() / 2], milliseconds(5)) << "the breaker is open by then";
  EXPECT_NE(registry.to_text().find("weir_store_up 0"), std::string::npos);
  EXPECT_NE(registry.to_text().find("weir_store_errors_total{kind=\"timeout\"}"),
            std::string::npos);
  server.signal(SIGCONT);
  EXPECT_LE(runner.until_known(charge, seconds(5)), seconds(2));
  EXPECT_NE(registry.to_text().find("weir_store_up 1"), std::string::npos);
}

TEST(RedisFaults, IsBackSoonAfterARestartWithoutMemory) {
  RedisServer server;
  Runner runner(hasty(tcp(server)));
  runner.wait_ready();
  const Charge charge = bucket(10);
  runner.charge(charge, support::wall_now());
  server.stop();
  int known = 0;
  expect_in_time(times(runner, charge, 40, known));
  EXPECT_EQ(known, 0);
  server.start();
  EXPECT_LE(runner.until_known(charge, seconds(5)), seconds(2));
}

TEST(RedisFaults, StartsWhileTheServerIsDownAndFindsItLater) {
  RedisServer server;
  server.stop();
  Runner runner(hasty(tcp(server)));
  EXPECT_FALSE(runner.charge(bucket(10), support::wall_now()).known);
  server.start();
  EXPECT_LE(runner.until_known(bucket(10), seconds(5)), seconds(2));
  EXPECT_TRUE(runner.store().has_answered());
}

TEST(RedisFaults, SaysSoWhenAForeignValueStandsUnderACounter) {
  RedisServer server;
  RedisClient client(server.socket_path());
  Runner runner(support::patient(tcp(server)));
  const Charge charge = bucket(10);
  runner.charge(charge, support::wall_now());
  const std::string name(client({"KEYS", "*:tb/*"}).at(0).text());
  for (const char* foreign : {"banana", "9/9/9|x", ""}) {
    client({"SET", name, foreign});
    EXPECT_FALSE(runner.charge(charge, support::wall_now()).known) << foreign;
  }
  client({"DEL", name});
  client({"LPUSH", name, "x"});
  EXPECT_FALSE(runner.charge(charge, support::wall_now()).known);
  client({"DEL", name});
  EXPECT_EQ(runner.charge(charge, support::wall_now()).verdict.remaining, 9u);
}

TEST(RedisFaults, TakesKeysOfAnyBytesAndLength) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  const std::string long_key(64 << 10, 'x');
  const std::string other_key = long_key + "y";
  for (const std::string& key : {std::string("a\0b", 3), std::string("a\0c", 3), std::string("{}"),
                                 std::string("}{"), std::string("\r\n"), long_key, other_key}) {
    Charge charge = bucket(2);
    charge.key = key;
    EXPECT_EQ(runner.charge(charge, support::wall_now()).verdict.remaining, 1u);
  }
}

TEST(RedisFaults, LeavesNoKeyWithoutAnExpiry) {
  RedisServer server;
  RedisClient client(server.socket_path());
  Runner runner(support::patient(tcp(server)));
  const Numbers every[] = {TokenBucket{{7, seconds(1)}, 3},
                           LeakyBucket{{1, seconds(9)}, 3},
                           FixedWindow{3, Duration(seconds(9)), Align::kEpoch},
                           SlidingLog{3, seconds(9)},
                           SlidingCounter{3, seconds(9), Align::kEpoch},
                           Concurrency{3, seconds(9)}};
  for (const Numbers& numbers : every) {
    const Charge charge{.rule = &rule_of(numbers), .counter = "c", .key = "1:k,"};
    for (int i = 0; i < 6; ++i) runner.charge(charge, support::wall_now());
  }
  std::vector<std::string> names;
  const resp::Reply keys = client({"KEYS", "*"});
  for (resp::Reply key = keys.first(); key.valid(); key = key.next())
    names.emplace_back(key.text());
  EXPECT_GE(names.size(), 6u);
  for (const std::string& name : names) EXPECT_GT(client({"PTTL", name}).integer(), 0) << name;
}

TEST(RedisFaults, RefusesAKnownRefusalWithoutAskingAgain) {
  RedisServer server;
  RedisClient client(server.socket_path());
  store::RedisOptions options = support::patient(tcp(server));
  options.deny_cache = seconds(1);
  Runner runner(options);
  const Charge charge = bucket(1);
  const Instant now = support::wall_now();
  EXPECT_TRUE(runner.charge(charge, now).verdict.allowed());
  const Answer first = runner.charge(charge, now);
  EXPECT_EQ(first.source, Source::kRedis);
  client({"CONFIG", "RESETSTAT"});
  for (int i = 1; i <= 50; ++i) {
    const Answer answer = runner.charge(charge, now + milliseconds(10 * i));
    EXPECT_EQ(answer.source, Source::kDenyCache);
    EXPECT_EQ(answer.verdict.retry_after, first.verdict.retry_after - milliseconds(10 * i));
  }
  const std::string stats(client({"INFO", "commandstats"}).text());
  EXPECT_EQ(stats.find("cmdstat_evalsha"), std::string::npos);
  EXPECT_EQ(runner.charge(charge, now + milliseconds(1000)).source, Source::kRedis);
  Charge peek = charge;
  peek.cost = 0;
  EXPECT_EQ(runner.charge(peek, now).source, Source::kRedis) << "a peek is never refused here";
  runner.store().refund({&charge, 1}, now);
  runner.flush();
  EXPECT_TRUE(runner.charge(charge, now).verdict.allowed()) << "our own refund drops the refusal";
}

TEST(RedisFaults, TellsTheWaitAnewOnceItHasAdmittedASmallerCall) {
  RedisServer server;
  store::RedisOptions options = support::patient(tcp(server));
  options.deny_cache = seconds(1);
  Runner runner(options);
  const Charge smaller = bucket(3);  // an hour each
  Charge larger = smaller;
  larger.cost = 2;
  const Instant now = support::wall_now();
  EXPECT_TRUE(runner.charge(larger, now).verdict.allowed());
  EXPECT_LE(runner.charge(larger, now).verdict.retry_after, std::chrono::hours(1));
  EXPECT_TRUE(runner.charge(smaller, now).verdict.allowed());
  EXPECT_GT(runner.charge(larger, now).verdict.retry_after, std::chrono::hours(1));
}

TEST(RedisFaults, CountsTheInstancesThatSayTheyAreThere) {
  RedisServer server;
  std::atomic<std::uint32_t> counted[2]{};
  net::Loops loops(1);
  std::vector<std::unique_ptr<store::RedisStore>> stores;
  for (auto& count : counted) {
    auto made = store::RedisStore::make(loops, support::patient(tcp(server)));
    ASSERT_TRUE(made.has_value());
    (*made)->on_fleet([&count](const store::RedisStore::Fleet& fleet) { count = fleet.instances; });
    (*made)->start();
    stores.push_back(std::move(*made));
  }
  loops.start();
  EXPECT_TRUE(wait_until([&] { return counted[0] == 2 || counted[1] == 2; }));
  loops.stop();
}

TEST(RedisFaults, AsksOnceForADecisionWhateverItMeets) {
  RedisServer server;
  RedisClient client(server.socket_path());
  Runner runner(support::patient(tcp(server)));
  std::vector<Charge> charges;
  std::deque<std::string> names;
  for (int i = 0; i < 10; ++i) {
    charges.push_back(bucket(100, names.emplace_back("limit" + std::to_string(i))));
  }
  runner.charge(charges, support::wall_now());
  client({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 20; ++i) runner.charge(charges, support::wall_now());
  const std::string stats(client({"INFO", "commandstats"}).text());
  EXPECT_NE(stats.find("cmdstat_evalsha:calls=20,"), std::string::npos) << stats;
}

}  // namespace
}  // namespace weir
