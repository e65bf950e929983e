// The library's limiters against the oracle: from one thread answer by answer, from many by how
// much they admit together.
//
// A failure prints its seed. Replay: WEIR_SEED=<seed>
// build/dev/tests/oracle/weir_library_property_test

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "oracle/generate.h"
#include "oracle/model.h"
#include "oracle/words.h"
#include "weir/keyed_limiter.h"
#include "weir/limiter.h"

namespace weir::oracle {
namespace {

constexpr Instant kStart = at_ns(1'767'225'600'123'456'789);
// Where the zones' files end (limit/calendar.h).
constexpr Instant kEnd = at_ns(2'114'380'800'000'000'000);
constexpr int kTraces = 40;  // of each algorithm
constexpr int kCalls = 60;   // of each trace

// The same numbers three times: by itself, by key, and by key in a batch.
struct Subjects {
  Numbers numbers;
  Limiter limiter;
  KeyedLimiter keyed;
  KeyedLimiter batched;

  static Subjects holdable(Generator& generate, Algorithm algorithm) {
    while (true) {
      const Numbers numbers = generate.numbers(algorithm);
      auto limiter = Limiter::make(numbers);
      if (!limiter) continue;
      return {numbers, *std::move(limiter), *KeyedLimiter::make("keyed", numbers),
              *KeyedLimiter::make("batched", numbers)};
    }
  }

  Verdict check_in_batch(std::uint64_t cost, Instant now) {
    // Others beside it, of other keys.
    const std::array<KeyedCall, 3> calls{KeyedCall{"a", 1}, KeyedCall{"k", cost},
                                         KeyedCall{"b", 1}};
    std::array<Verdict, 3> verdicts;
    batched.check_batch(calls, verdicts, now);
    return verdicts[1];
  }
};

class LibraryProperties : public ::testing::TestWithParam<Algorithm> {
 protected:
  template <typename Body>
  void for_many(int traces, Body body) {
    for (int i = 0; i < traces && !HasFailure(); ++i) {
      const std::uint64_t seed = run_seed() * 1000 + static_cast<std::uint64_t>(i);
      SCOPED_TRACE(replay(seed));
      Generator generate(seed);
      Subjects subjects = Subjects::holdable(generate, GetParam());
      body(generate, subjects);
    }
  }
};

TEST_P(LibraryProperties, AnswersAreTheOracles) {
  for_many(kTraces, [](Generator& generate, Subjects& on) {
    const auto model = make_model(on.numbers);
    const std::uint64_t quota = on.limiter.peek(kStart).quota;
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const std::uint64_t cost = generate.cost(quota);
      const Verdict right = model->ask(cost, now, true);
      SCOPED_TRACE("call " + std::to_string(call) + " cost " + std::to_string(cost));
      ASSERT_EQ(describe(on.limiter.check(cost, now)), describe(right));
      ASSERT_EQ(describe(on.keyed.check("k", cost, now)), describe(right));
      ASSERT_EQ(describe(on.check_in_batch(cost, now)), describe(right));
      if (generate.one_in(8)) {
        const std::uint64_t back = 1 + generate.below(3);
        model->refund(back, now, std::nullopt);
        on.limiter.refund(back, now);
        on.keyed.refund("k", back, now);
        on.batched.refund("k", back, now);
      }
      now = now + generate.pause(right, typical_span(on.numbers));
    }
  });
}

TEST_P(LibraryProperties, AYesOrNoIsThatOfTheVerdict) {
  for_many(kTraces, [](Generator& generate, Subjects& on) {
    const auto model = make_model(on.numbers);
    const std::uint64_t quota = on.limiter.peek(kStart).quota;
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const std::uint64_t cost = generate.cost(quota);
      const Verdict right = model->ask(cost, now, true);
      ASSERT_EQ(on.limiter.allow(cost, now), right.allowed()) << "call " << call;
      ASSERT_EQ(on.keyed.allow("k", cost, now), right.allowed()) << "call " << call;
      now = now + generate.pause(right, typical_span(on.numbers));
    }
  });
}

// At each of some moments, four threads are admitted exactly what one caller would be.
TEST_P(LibraryProperties, FourThreadsAreAdmittedWhatTheOracleAdmits) {
  constexpr int kThreads = 4;
  constexpr int kEach = 40;
  for_many(6, [](Generator& generate, Subjects& on) {
    const auto model = make_model(on.numbers);
    Instant now = kStart;
    for (int round = 0; round < 4 && now.steady_ns < kEnd.steady_ns; ++round) {
      int right = 0;
      for (int i = 0; i < kThreads * kEach; ++i) right += model->ask(1, now, true).allowed();
      std::atomic<int> alone{0};
      std::atomic<int> keyed{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < kEach; ++i) {
            alone += on.limiter.allow(1, now);
            keyed += on.keyed.allow("k", 1, now);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      ASSERT_EQ(alone, right) << "round " << round;
      ASSERT_EQ(keyed, right) << "round " << round;
      now = now + generate.pause(model->ask(1, now, false), typical_span(on.numbers));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, LibraryProperties, every_algorithm(), algorithm_name);

}  // namespace
}  // namespace weir::oracle
