// What a charge can still become, on random limits and traces, against the oracle: given back,
// taken more of, renewed, in the window that was charged.
//
// A failure prints its seed. Replay: WEIR_SEED=<seed> build/dev/tests/oracle/weir_property_test

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "limit/rule.h"
#include "oracle/generate.h"
#include "oracle/oracle.h"
#include "oracle/words.h"
#include "scenario/targets.h"
#include "store/memory/memory_store.h"

namespace weir::oracle {
namespace {

using scenario::Change;
using scenario::Met;

constexpr Instant kStart = at_ns(1'767'225'600'123'456'789);
constexpr Instant kEnd = at_ns(2'114'380'800'000'000'000);  // of the zones' files
constexpr int kTraces = 60;
constexpr int kCalls = 80;

std::string describe(const Verdict& v) {
  return "outcome " + std::to_string(static_cast<int>(v.outcome)) + " left " +
         std::to_string(v.remaining) + "/" + std::to_string(v.quota) + " retry " +
         std::to_string(v.retry_after.count()) + " reset " + std::to_string(v.reset_after.count()) +
         " delay " + std::to_string(v.delay.count()) + " next " +
         std::to_string(v.next_after.count());
}

Numbers holdable(Generator& generate, Algorithm algorithm) {
  while (true) {
    const Numbers numbers = generate.numbers(algorithm);
    if (limit::Rule::make(numbers)) return numbers;
  }
}

class Corrections : public ::testing::TestWithParam<Algorithm> {};

// What one call took, and when.
struct Taken {
  Met met;
  Instant at;
};

TEST_P(Corrections, LeaveTheFunctionAndTheStoreAsTheyLeaveTheOracle) {
  for (int trace = 0; trace < kTraces && !HasFailure(); ++trace) {
    const std::uint64_t seed = run_seed() * 1000 + static_cast<std::uint64_t>(trace);
    SCOPED_TRACE("replay with WEIR_SEED=" + std::to_string(run_seed()));
    Generator generate(seed);
    const scenario::Limit limit{"limit", holdable(generate, GetParam()), false};
    const std::uint64_t quota = limit::Rule::make(limit.numbers)->quota();
    Oracle oracle;
    scenario::PureTarget pure;
    store::MemoryStore memory;
    scenario::StoreTarget stored(memory);
    const std::array<scenario::Target*, 3> all = {&oracle, &pure, &stored};
    std::vector<Taken> taken;
    Instant now = kStart;
    for (int call = 0; call < kCalls && now.steady_ns < kEnd.steady_ns; ++call) {
      const Met met{&limit, "k", generate.cost(quota)};
      const scenario::Reply reply = oracle.take({&met, 1}, now);
      const Verdict right = reply.verdicts[0];
      ASSERT_EQ(describe(pure.take({&met, 1}, now).verdicts[0]), describe(right))
          << "call " << call;
      ASSERT_EQ(describe(stored.take({&met, 1}, now).verdicts[0]), describe(right))
          << "call " << call;
      if (reply.admitted && met.cost > 0) taken.push_back({met, now});
      now = now + generate.pause(right, typical_span(limit.numbers));
      if (!taken.empty() && generate.one_in(3)) {
        Taken one = taken[generate.below(taken.size())];
        if (generate.one_in(3)) one.met.cost = 1 + generate.below(3 * quota + 2);
        const auto change = generate.one_of({Change::kRefund, Change::kOverdraw, Change::kRenew});
        for (scenario::Target* target : all) target->correct({&one.met, 1}, change, now, one.at);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Corrections, every_algorithm(), algorithm_name);

}  // namespace
}  // namespace weir::oracle
