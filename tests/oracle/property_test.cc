// Properties of every algorithm, on random limits and traces, against the oracle.
//
// A failure prints its seed. Replay: WEIR_SEED=<seed> build/dev/tests/oracle/weir_property_test

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "limit/rule.h"
#include "oracle/generate.h"
#include "oracle/oracle.h"
#include "oracle/words.h"
#include "scenario/targets.h"
#include "store/memory/memory_store.h"

namespace weir::oracle {
namespace {

using scenario::Met;
using scenario::Reply;

constexpr Instant kStart = at_ns(1'767'225'600'123'456'789);
// Where the zones' files end (limit/calendar.h).
constexpr Instant kEnd = at_ns(2'114'380'800'000'000'000);
constexpr int kTraces = 60;  // of each algorithm
constexpr int kCalls = 80;   // of each trace

// Numbers that can be held; most random ones can.
Numbers holdable(Generator& generate, Algorithm algorithm) {
  while (true) {
    const Numbers numbers = generate.numbers(algorithm);
    if (limit::Rule::make(numbers)) return numbers;
  }
}

std::uint64_t quota_of(const Numbers& numbers) {
  return limit::Rule::make(numbers)->quota();
}

class Properties : public ::testing::TestWithParam<Algorithm> {
 protected:
  // Runs `body(generate, numbers, seed)` on many random limits of the algorithm.
  template <typename Body>
  void for_many(Body body) {
    for (int i = 0; i < kTraces && !HasFailure(); ++i) {
      const std::uint64_t seed = run_seed() * 1000 + static_cast<std::uint64_t>(i);
      SCOPED_TRACE(replay(seed));
      Generator generate(seed);
      body(generate, holdable(generate, GetParam()));
    }
  }
};

// Outcome, remaining, and all times, of the pure function and the memory store, are the oracle's.
TEST_P(Properties, AnswersAreTheOraclesForTheFunctionAndTheStore) {
  for_many([](Generator& generate, const Numbers& numbers) {
    const scenario::Limit limit{"limit", numbers, false};
    const std::uint64_t quota = quota_of(numbers);
    Oracle oracle;
    scenario::PureTarget pure;
    store::MemoryStore memory;
    scenario::StoreTarget stored(memory);
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const Met met{&limit, "k", generate.cost(quota)};
      const Verdict right = oracle.take({&met, 1}, now).verdicts[0];
      const Verdict function = pure.take({&met, 1}, now).verdicts[0];
      const Verdict store = stored.take({&met, 1}, now).verdicts[0];
      ASSERT_EQ(describe(function), describe(right)) << "call " << call << " cost " << met.cost;
      ASSERT_EQ(describe(store), describe(right)) << "call " << call << " cost " << met.cost;
      if (generate.one_in(8)) {
        const Met back{&limit, "k", 1 + generate.below(3)};
        for (scenario::Target* target :
             {static_cast<scenario::Target*>(&oracle), static_cast<scenario::Target*>(&pure),
              static_cast<scenario::Target*>(&stored)}) {
          target->correct({&back, 1}, scenario::Change::kRefund, now, std::nullopt);
        }
      }
      now = now + generate.pause(right, typical_span(numbers));
    }
  });
}

TEST_P(Properties, SeveralLimitsTogetherAreTheOraclesToo) {
  for_many([](Generator& generate, const Numbers& numbers) {
    const std::vector<scenario::Limit> limits = {
        {"first", numbers, false},
        {"second", holdable(generate, static_cast<Algorithm>(generate.below(6))), false},
        {"shadow",
         holdable(generate, static_cast<Algorithm>(generate.below(6))),
         true,
         {holdable(generate, static_cast<Algorithm>(generate.below(6)))}}};
    Oracle oracle;
    store::MemoryStore memory(store::MemoryOptions{100'000});
    scenario::StoreTarget stored(memory);
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      std::vector<Met> met;
      for (const auto& limit : limits) {
        if (generate.one_in(4)) continue;
        const std::string key = std::to_string(generate.below(2));
        scenario::meet(limit, key, generate.one_of<std::uint64_t>({1, 1, 2}), met);
      }
      if (met.empty()) continue;
      const Reply right = oracle.take(met, now);
      const Reply got = stored.take(met, now);
      ASSERT_EQ(got.admitted, right.admitted) << "call " << call;
      for (std::size_t i = 0; i < met.size(); ++i) {
        ASSERT_EQ(describe(got.verdicts[i]), describe(right.verdicts[i]))
            << "call " << call << " limit " << met[i].limit->name;
      }
      // Sometimes a sample from another thread comes late.
      const Duration pause = generate.pause(right.verdicts[0], typical_span(numbers));
      now = generate.one_in(10) ? now + -pause / 2 : now + pause;
    }
  });
}

// On the states that random calls lead to, of the algorithms that have one.
class StateProperties : public Properties {};

TEST_P(StateProperties, ADenialIsKeptToTheTickAndAFreshStateIsSaidToTheTick) {
  for_many([](Generator& generate, const Numbers& numbers) {
    const limit::Rule rule = *limit::Rule::make(numbers);
    std::optional<limit::State> state;
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const std::uint64_t cost = generate.cost(rule.quota());
      const limit::State* before = state ? &*state : nullptr;
      const limit::Step step = rule.decide(before, cost, now);
      const Verdict& verdict = step.verdict;
      if (verdict.outcome == Outcome::kDenied) {
        ASSERT_FALSE(step.write);
        const Instant then = now + verdict.retry_after;
        ASSERT_TRUE(rule.decide(before, cost, then).verdict.allowed());
        ASSERT_FALSE(rule.decide(before, cost, then + Duration(-1)).verdict.allowed());
      }
      if (step.write) state = step.next;
      if (state && !rule.is_fresh(*state, now) && rule.fresh_at(*state) != limit::kNeverNs) {
        ASSERT_TRUE(rule.is_fresh(*state, now + verdict.reset_after));
        ASSERT_FALSE(rule.is_fresh(*state, now + verdict.reset_after + Duration(-1)));
      }
      now = now + generate.pause(verdict, typical_span(numbers));
    }
  });
}

// Whoever drops entries that equal fresh, whenever, gets the same answers.
TEST_P(Properties, ForgettingWhatEqualsFreshChangesNoAnswer) {
  for_many([](Generator& generate, const Numbers& numbers) {
    const scenario::Limit limit{"limit", numbers, false};
    const std::uint64_t quota = quota_of(numbers);
    store::MemoryStore kept;
    store::MemoryStore swept;
    scenario::StoreTarget one(kept);
    scenario::StoreTarget other(swept);
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const Met met{&limit, "k", generate.cost(quota)};
      const Verdict expected = one.take({&met, 1}, now).verdicts[0];
      ASSERT_EQ(describe(other.take({&met, 1}, now).verdicts[0]), describe(expected));
      now = now + generate.pause(expected, typical_span(numbers));
      if (generate.one_in(3)) swept.sweep(now);
    }
  });
}

// What is given back at once was never taken.
TEST_P(Properties, ARefundUndoesItsCharge) {
  for_many([](Generator& generate, const Numbers& numbers) {
    const scenario::Limit limit{"limit", numbers, false};
    const std::uint64_t quota = quota_of(numbers);
    store::MemoryStore plain;
    store::MemoryStore undone;
    scenario::StoreTarget one(plain);
    scenario::StoreTarget other(undone);
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const Met extra{&limit, "k", generate.cost(quota)};
      // A first call of its own would start a window of its own.
      const bool admitted = other.take({&extra, 1}, now).admitted;
      if (admitted) other.correct({&extra, 1}, scenario::Change::kRefund, now, now);
      const Met met{&limit, "k", generate.cost(quota)};
      const Verdict expected = one.take({&met, 1}, now).verdicts[0];
      ASSERT_EQ(describe(other.take({&met, 1}, now).verdicts[0]), describe(expected));
      now = now + generate.pause(expected, typical_span(numbers));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, StateProperties,
                         ::testing::Values(Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                                           Algorithm::kFixedWindow, Algorithm::kSlidingCounter),
                         algorithm_name);

// Between any two moments no more than the burst and what flowed in is admitted, whatever the
// threads' clocks show.
TEST(TokenBucketProperty, NoIntervalAdmitsMoreThanBurstAndInflowFromFourThreadsWithWildClocks) {
  SCOPED_TRACE(replay(run_seed()));
  const std::uint64_t burst = 7;
  const Duration interval = std::chrono::microseconds(3);
  const auto rule = *limit::Rule::make(TokenBucket{Rate{1, interval}, burst});
  store::MemoryStore memory;
  std::vector<std::vector<std::int64_t>> admitted(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < admitted.size(); ++t) {
    threads.emplace_back([&, t] {
      Generator generate(run_seed() + t);
      for (int i = 0; i < 3000; ++i) {
        const store::Charge charge{&rule, "limit", "hot"};
        store::Answer answer;
        const Instant now = kStart + Duration(i * 1000 + static_cast<int>(generate.below(20'000)));
        const auto admission = memory.charge_now({&charge, 1}, now, {&answer, 1});
        if (admission) admitted[t].push_back(admission.at.steady_ns);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::int64_t> all;
  for (const auto& part : admitted) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  ASSERT_GT(all.size(), burst);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i; j < all.size(); ++j) {
      ASSERT_LE(static_cast<std::int64_t>(j - i + 1),
                static_cast<std::int64_t>(burst) + (all[j] - all[i]) / interval.count());
    }
  }
}

// The same for every algorithm: what threads with wild clocks were admitted, in the order in which
// the store decided it, the oracle admits too. (Denied calls leave no trace.)
TEST_P(Properties, WhatFourThreadsWereAdmittedTheOracleAdmits) {
  SCOPED_TRACE(replay(run_seed()));
  Generator generate(run_seed());
  for (int round = 0; round < 5; ++round) {
    const Numbers numbers = holdable(generate, GetParam());
    const auto rule = *limit::Rule::make(numbers);
    const Duration pause = std::min<Duration>(typical_span(numbers), std::chrono::hours(24));
    store::MemoryStore memory;
    std::vector<std::vector<Instant>> admitted(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < admitted.size(); ++t) {
      threads.emplace_back([&, t] {
        Generator jitter(run_seed() + t);
        for (int i = 0; i < 50; ++i) {
          const store::Charge charge{&rule, "limit", "hot"};
          store::Answer answer;
          const Instant now = kStart + i * pause / 10 +
                              Duration(jitter.below(static_cast<std::uint64_t>(pause.count()) + 1));
          const auto admission = memory.charge_now({&charge, 1}, now, {&answer, 1});
          if (admission) admitted[t].push_back(admission.at);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    std::vector<Instant> all;
    for (const auto& part : admitted) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(),
              [](Instant a, Instant b) { return a.steady_ns < b.steady_ns; });
    const auto model = make_model(numbers);
    for (const Instant at : all) ASSERT_TRUE(model->ask(1, at, true).allowed());
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Properties, every_algorithm(), algorithm_name);

// The same trace from one thread must give the whole inflow: nothing is denied falsely.
TEST(TokenBucketProperty, SaturatedForAnHourItAdmitsBurstAndRateTimesTime) {
  for (const Rate rate : {Rate{3, std::chrono::seconds(1)}, Rate{1, std::chrono::seconds(7)},
                          Rate{1, std::chrono::hours(720)}, Rate{5, std::chrono::seconds(100)}}) {
    const auto rule = *limit::Rule::make(TokenBucket{rate, 2});
    std::optional<limit::State> state;
    Instant now = kStart;
    const std::int64_t span = std::chrono::nanoseconds(std::chrono::hours(1)).count();
    std::uint64_t admitted = 0;
    while (now.steady_ns < kStart.steady_ns + span) {
      const auto step = rule.decide(state ? &*state : nullptr, 1, now);
      if (!step.verdict.allowed()) {
        now = now + step.verdict.retry_after;
        continue;
      }
      ++admitted;
      state = step.next;
    }
    const Fraction inflow(Integer(rate.count) * span, Integer(rate.period.count()));
    EXPECT_LE(Integer(admitted), floor(inflow) + 2);
    EXPECT_GE(Integer(admitted) + 1, floor(inflow) + 2);
  }
}

}  // namespace
}  // namespace weir::oracle
