// Same policy, same answers: the corpus of scenarios and random traces against the oracle, on a
// real server and on a real Cluster (one caller at a time). One tick is 1 us there, so scenarios
// that tell microseconds apart into nanoseconds are left out, and random times and durations are
// whole microseconds.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "limit/rule.h"
#include "oracle/generate.h"
#include "oracle/oracle.h"
#include "redis/fleet.h"
#include "redis/runner.h"
#include "scenario/corpus.h"
#include "store/redis/redis_store.h"
#include "support/redis_server.h"

namespace weir {
namespace {

using scenario::Met;
using support::RedisCluster;
using support::RedisServer;
using support::RedisTarget;
using support::Runner;

store::RedisOptions timed(const std::string& url) {
  store::RedisOptions options = support::patient(url);
  options.time_from_caller = true;
  return options;
}

enum class Where { kServer, kCluster };

// One server, one Cluster and a store on each for all tests of this program.
struct Single {
  RedisServer server;
  Runner runner{timed("redis+unix://" + server.socket_path())};
};
struct Clustered {
  RedisCluster cluster{/*replicas=*/false};
  Runner runner{timed(cluster.url())};
};

Runner& runner_on(Where where) {
  if (where == Where::kServer) {
    static Single single;
    return single.runner;
  }
  static Clustered clustered;
  static const bool ready = (clustered.runner.wait_all_ready(), true);
  static_cast<void>(ready);
  return clustered.runner;
}

std::string to_string(Where where) {
  return where == Where::kServer ? "OnAServer" : "OnACluster";
}

bool tells_nanoseconds(Duration d) {
  return d.count() % 1000 != 0;
}

bool tells_nanoseconds(const scenario::Expectation& expected) {
  for (const auto& each : {expected.retry, expected.reset, expected.delay, expected.next}) {
    if (each && tells_nanoseconds(*each)) return true;
  }
  return false;
}

// What keeps a scenario from running here, or nothing.
std::string unfit(const scenario::Scenario& scenario) {
  for (const scenario::Step& step : scenario.steps) {
    if (std::holds_alternative<scenario::WallStep>(step.action)) {
      return "the server has one clock, so none steps alone";
    }
    const auto* take = std::get_if<scenario::Take>(&step.action);
    const auto* every = std::get_if<scenario::TakeEvery>(&step.action);
    if (tells_nanoseconds(step.at) || (take != nullptr && tells_nanoseconds(take->expected)) ||
        (every != nullptr && tells_nanoseconds(every->pause))) {
      return "it tells moments apart that lie in one microsecond";
    }
  }
  return "";
}

class Corpus : public testing::TestWithParam<std::tuple<Where, std::string>> {};

TEST_P(Corpus, HoldsForRedis) {
  const auto& [where, name] = GetParam();
  const scenario::Scenario scenario = scenario::load(name);
  if (const std::string reason = unfit(scenario); !reason.empty()) GTEST_SKIP() << reason;
  RedisTarget target(runner_on(where), name + ".");
  for (const std::string& failure : scenario::run(scenario, target)) {
    ADD_FAILURE() << name << ".scenario: " << failure;
  }
}

Duration up_to_us(Duration d) {
  return Duration((d.count() + 999) / 1000 * 1000);
}

std::string describe(Verdict v) {
  return "outcome " + std::to_string(static_cast<int>(v.outcome)) + " left " +
         std::to_string(v.remaining) + "/" + std::to_string(v.quota) + " retry " +
         std::to_string(up_to_us(v.retry_after).count()) + " reset " +
         std::to_string(up_to_us(v.reset_after).count()) + " delay " +
         std::to_string(up_to_us(v.delay).count()) + " next " +
         std::to_string(up_to_us(v.next_after).count());
}

Duration window_of(const Numbers& numbers) {
  if (const auto* fixed = std::get_if<FixedWindow>(&numbers)) {
    const auto* length = std::get_if<Duration>(&fixed->window);
    return length != nullptr ? *length : Duration(0);
  }
  if (const auto* log = std::get_if<SlidingLog>(&numbers)) return log->window;
  if (const auto* counter = std::get_if<SlidingCounter>(&numbers)) return counter->window;
  if (const auto* calls = std::get_if<Concurrency>(&numbers)) return calls->timeout;
  return Duration(0);
}

// Numbers that Redis can hold, their windows whole microseconds.
Numbers holdable(oracle::Generator& generate) {
  constexpr Algorithm kLast = Algorithm::kConcurrency;
  while (true) {
    const auto algorithm = Algorithm(generate.below(static_cast<std::uint64_t>(kLast) + 1));
    const Numbers numbers = generate.numbers(algorithm);
    const auto rule = limit::Rule::make(numbers);
    if (!rule || store::RedisStore::check(*rule)) continue;
    if (tells_nanoseconds(window_of(numbers))) continue;
    return numbers;
  }
}

// Several limits on one request, shadow ones too: all or nothing, as the oracle has it.
class RandomTraces : public testing::TestWithParam<Where> {};

TEST_P(RandomTraces, AreAnsweredAsByTheOracle) {
  for (int trace = 0; trace < 40; ++trace) {
    const std::uint64_t seed = oracle::run_seed() * 1000 + static_cast<std::uint64_t>(trace);
    SCOPED_TRACE("seed " + std::to_string(seed) +
                 "; replay all of this run with WEIR_SEED=" + std::to_string(oracle::run_seed()));
    oracle::Generator generate(seed);
    const bool keys_differ = trace % 2 == 1;  // on a Cluster: the limits lie in several slots
    std::vector<scenario::Limit> limits;
    for (std::uint64_t i = 0, count = 1 + generate.below(4); i < count; ++i) {
      limits.push_back({"l" + std::to_string(i), holdable(generate), generate.one_in(4)});
      if (generate.one_in(3)) limits.back().more.push_back(holdable(generate));
    }
    oracle::Oracle oracle;
    RedisTarget target(runner_on(GetParam()), std::to_string(seed) + ".");
    Instant now = at_ns(1'767'225'600'123'456'000);
    for (int call = 0; call < 40; ++call) {
      std::vector<Met> met;
      for (const scenario::Limit& limit : limits) {
        const std::uint64_t quota = limit::Rule::make(limit.numbers)->quota();
        const std::string key = keys_differ ? "k" + limit.name : "k";
        scenario::meet(limit, key, generate.one_in(3) ? generate.cost(quota) : 1, met);
      }
      const scenario::Reply right = oracle.take(met, now);
      const scenario::Reply redis = target.take(met, now);
      ASSERT_EQ(redis.admitted, right.admitted) << "call " << call;
      for (std::size_t i = 0; i < met.size(); ++i) {
        ASSERT_EQ(describe(redis.verdicts[i]), describe(right.verdicts[i]))
            << "call " << call << " limit " << met[i].counter() << " cost " << met[i].cost
            << " algorithm " << met[i].numbers().index();
      }
      const Verdict& last = right.verdicts.front();
      now = now + up_to_us(generate.pause(last, oracle::typical_span(limits[0].numbers)));
      if (now.steady_ns > 2'114'380'800'000'000'000) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Corpus,
                         testing::Combine(testing::Values(Where::kServer, Where::kCluster),
                                          testing::ValuesIn(scenario::corpus())),
                         [](const auto& tested) {
                           return to_string(std::get<0>(tested.param)) + "_" +
                                  std::get<1>(tested.param);
                         });
INSTANTIATE_TEST_SUITE_P(All, RandomTraces, testing::Values(Where::kServer, Where::kCluster),
                         [](const auto& tested) { return to_string(tested.param); });

}  // namespace
}  // namespace weir
