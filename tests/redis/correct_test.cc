// What a charge can still become, on real servers: once, whoever asks, in whichever slots.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>

#include "redis/faults.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using store::Change;
using store::Charge;
using store::Once;
using support::Asked;
using support::charge_of;
using support::RedisCluster;
using support::RedisServer;
using support::rule_of;
using support::Runner;
using support::tcp;
using Outcome = store::Correction::Outcome;

std::vector<Charge> changed(std::vector<Charge> charges, Change change, Instant at) {
  for (Charge& charge : charges) {
    charge.change = change;
    charge.charged_at = at;
  }
  return charges;
}

// As `asked` charged them, each when its own slot did.
std::vector<Charge> changed(std::vector<Charge> charges, Change change, const Asked& asked) {
  charges = changed(std::move(charges), change, asked.admission.at);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    charges[i].charged_at = asked.admission.at + asked.answers[i].apart;
  }
  return charges;
}

std::uint64_t left(Runner& runner, Charge charge) {
  charge.cost = 0;
  return runner.charge(charge, support::wall_now()).verdict.remaining;
}

TEST(RedisCorrect, IsMadeOnceByWhicheverInstanceAndAlsoByOneThatStartedLater) {
  RedisServer server;
  const Charge charge = charge_of(rule_of(TokenBucket{{1, hours(1)}, 5}), "c", "1:k,", 4);
  Runner first(support::patient(tcp(server)));
  first.wait_ready();
  const Instant at = first.charge(std::vector{charge}, support::wall_now()).admission.at;
  const Once once{{1, 2}, at + Duration(seconds(60))};
  const auto back = changed({charge}, Change::kGiveBack, at);
  {
    Runner second(support::patient(tcp(server)));
    second.wait_ready();
    EXPECT_EQ(second.correct(back, once, at).outcome, Outcome::kMade);
    EXPECT_EQ(second.correct(back, once, at).outcome, Outcome::kSpent);
  }
  EXPECT_EQ(first.correct(back, once, at).outcome, Outcome::kSpent);
  EXPECT_EQ(left(first, charge), 5u);
  const Once ended{{5, 6}, at};
  EXPECT_EQ(first.correct(back, ended, at).outcome, Outcome::kTooLate);
}

TEST(RedisCorrect, OwesWhatWasNotThere) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  const Charge charge = charge_of(rule_of(TokenBucket{{1, hours(1)}, 5}), "c", "1:k,", 1);
  const Instant at = runner.charge(std::vector{charge}, support::wall_now()).admission.at;
  Charge more = charge;
  more.cost = 10;
  ASSERT_EQ(runner.correct(changed({more}, Change::kTake, at), std::nullopt, at).outcome,
            Outcome::kMade);
  const Verdict refused = runner.charge(charge, support::wall_now()).verdict;
  EXPECT_EQ(refused.outcome, weir::Outcome::kDenied);
  EXPECT_GT(refused.retry_after, Duration(hours(6)));
  EXPECT_LE(refused.retry_after, Duration(hours(7)));
  more.cost = 8;
  runner.correct(changed({more}, Change::kGiveBack, at), std::nullopt, at);
  EXPECT_EQ(left(runner, charge), 2u);
}

TEST(RedisCorrect, KeepsThatABucketWasFullUnderNumbersThatHeldMeanwhile) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  const auto of_burst = [](std::uint64_t burst, std::uint64_t cost) {
    return charge_of(rule_of(TokenBucket{{1, hours(1)}, burst}), "c", "1:k,", cost);
  };
  const Instant at = runner.charge(std::vector{of_burst(6, 2)}, support::wall_now()).admission.at;
  runner.correct(changed({of_burst(4, 1)}, Change::kGiveBack, at), std::nullopt, at);
  EXPECT_EQ(left(runner, of_burst(8, 0)), 8u);
}

TEST(RedisCorrect, IsTimedByWhatWasAskedOfTheStore) {
  RedisServer server;
  metrics::Registry registry;
  store::RedisOptions options = support::patient(tcp(server));
  options.registry = &registry;
  Runner runner(options);
  runner.wait_ready();
  const auto calls_of = [&](const char* op) {
    const std::string series = std::string("weir_store_seconds_count{op=\"") + op + "\"} ";
    const std::string text = registry.to_text();
    const std::size_t at = text.find(series);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + series.size()));
  };
  const int charges = calls_of("charge");
  const int peeks = calls_of("peek");
  const std::vector charge{charge_of(rule_of(TokenBucket{{1, hours(1)}, 5}), "c", "1:k,", 2)};
  const Instant at = runner.charge(charge, support::wall_now()).admission.at;
  EXPECT_EQ(left(runner, charge[0]), 3u);
  runner.correct(changed(charge, Change::kGiveBack, at), std::nullopt, at);
  runner.correct(changed(charge, Change::kTake, at), std::nullopt, at);
  runner.correct(changed(charge, Change::kTake, at), std::nullopt, at);
  runner.store().reset(charge, nullptr);
  runner.flush();
  EXPECT_EQ(calls_of("charge"), charges + 1);
  EXPECT_GE(calls_of("peek"), peeks + 1);
  EXPECT_EQ(calls_of("refund"), 1);
  EXPECT_EQ(calls_of("take"), 2);
  EXPECT_EQ(calls_of("reset"), 1);
  EXPECT_EQ(calls_of("renew"), 0);
}

TEST(RedisCorrect, FindsCallsInFlightUntilTheyAreReleased) {
  RedisServer server;
  Runner runner(support::patient(tcp(server)));
  runner.wait_ready();
  const Charge charge = charge_of(rule_of(Concurrency{1, hours(1)}), "c", "1:k,", 1);
  const Instant at = runner.charge(std::vector{charge}, support::wall_now()).admission.at;
  const auto renewed = runner.correct(changed({charge}, Change::kRenew, at), std::nullopt, at);
  EXPECT_EQ(renewed.found, 1u);
  EXPECT_GT(renewed.at.steady_ns, at.steady_ns);
  EXPECT_FALSE(runner.charge(charge, support::wall_now()).verdict.allowed());
  const auto again = changed({charge}, Change::kGiveBack, at);
  EXPECT_EQ(runner.correct(again, std::nullopt, at).found, 0u);
  const auto back = changed({charge}, Change::kGiveBack, renewed.at);
  EXPECT_EQ(runner.correct(back, std::nullopt, at).found, 1u);
  EXPECT_TRUE(runner.charge(charge, support::wall_now()).verdict.allowed());
}

TEST(RedisCorrect, IsMadeOnceOverSlotsOfACluster) {
  RedisCluster cluster(false);
  Runner runner(support::patient(cluster.url()));
  runner.wait_all_ready();
  const limit::Rule& rule = rule_of(TokenBucket{{1, hours(1)}, 10});
  std::vector<Charge> charges;
  for (const char* key : {"1:a,", "1:b,", "1:c,", "1:d,"}) {
    charges.push_back(charge_of(rule, "c", key, 6));
  }
  const Instant at = runner.charge(charges, support::wall_now()).admission.at;
  const Once once{{7, 8}, at + Duration(seconds(60))};
  const auto back = changed(charges, Change::kGiveBack, at);
  EXPECT_EQ(runner.correct(back, once, at).outcome, Outcome::kMade);
  EXPECT_EQ(runner.correct(back, once, at).outcome, Outcome::kSpent);
  for (const Charge& charge : charges) EXPECT_EQ(left(runner, charge), 10u);
}

// Calls in flight, and those of a log, are found by when their own slot charged them.
TEST(RedisCorrect, FindsWhatWasChargedInEverySlotOfACluster) {
  RedisCluster cluster(false);
  Runner runner(support::patient(cluster.url()));
  runner.wait_all_ready();
  std::vector<Charge> charges;
  for (const char* key : {"1:a,", "1:b,", "1:c,", "1:d,"}) {
    charges.push_back(charge_of(rule_of(Concurrency{1, hours(1)}), "flight", key));
    charges.push_back(charge_of(rule_of(SlidingLog{10, hours(1)}), "log", key, 6));
  }
  const std::vector places{charges[0], charges[2], charges[4], charges[6]};
  const auto asked = runner.charge(charges, support::wall_now());
  ASSERT_TRUE(asked.admission.admitted);
  auto renewals = changed(charges, Change::kRenew, asked);
  renewals = {renewals[0], renewals[2], renewals[4], renewals[6]};
  const auto renewed = runner.correct(renewals, std::nullopt, asked.admission.at);
  EXPECT_EQ(renewed.found, 4u);
  ASSERT_EQ(renewed.apart.size(), 4u);
  auto back = changed(charges, Change::kGiveBack, asked);
  for (std::size_t i = 0; i < 4; ++i) back[2 * i].charged_at = renewed.at + renewed.apart[i];
  EXPECT_EQ(runner.correct(back, std::nullopt, asked.admission.at).found, 4u);
  for (const Charge& place : places) EXPECT_EQ(left(runner, place), 1u);
  for (std::size_t i = 1; i < charges.size(); i += 2) EXPECT_EQ(left(runner, charges[i]), 10u);
}

TEST(RedisCorrect, SaysThatItIsNotKnownWhereTheServerDoesNotAnswer) {
  RedisServer server;
  auto options = support::patient(tcp(server));
  options.connect_timeout = seconds(1);
  Runner runner(options);
  runner.wait_ready();
  const Charge charge = charge_of(rule_of(TokenBucket{{1, hours(1)}, 5}), "c", "1:k,", 4);
  const Instant at = runner.charge(std::vector{charge}, support::wall_now()).admission.at;
  server.signal(SIGSTOP);
  const auto told = runner.correct(changed({charge}, Change::kGiveBack, at), std::nullopt, at);
  EXPECT_EQ(told.outcome, Outcome::kUnknown);
  server.signal(SIGCONT);
}

// The secret that ids are sealed by: one for all, also after the server has forgotten it.
TEST(RedisCorrect, InstancesAgreeOnOneSecret) {
  RedisServer server;
  net::Loops loops(1);
  struct Instance {
    std::atomic<std::uint64_t> secret{0};
    std::unique_ptr<store::RedisStore> store;
  };
  std::deque<Instance> instances;
  const auto add = [&] {
    Instance& one = instances.emplace_back();
    auto made = store::RedisStore::make(loops, support::patient(tcp(server)));
    ASSERT_TRUE(made.has_value());
    one.store = std::move(*made);
    one.store->on_fleet([&one](const store::RedisStore::Fleet& fleet) {
      one.secret = fleet.secret.k0 ^ fleet.secret.k1;
    });
    one.store->start();
  };
  const auto agree = [&] {
    return std::all_of(instances.begin(), instances.end(), [&](const Instance& one) {
      return one.secret != 0 && one.secret == instances.front().secret;
    });
  };
  add();
  add();
  loops.start();
  EXPECT_TRUE(support::wait_until(agree));
  support::RedisClient client(server.socket_path());
  client({"FLUSHALL"});
  add();
  EXPECT_TRUE(support::wait_until(agree));
  loops.stop();
}

}  // namespace
}  // namespace weir
