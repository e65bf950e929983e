// What the property tests print. Tests only.
//
// THREADS: pure functions.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "oracle/generate.h"
#include "weir/decision.h"
#include "weir/numbers.h"

namespace weir::oracle {

inline std::string describe(const Verdict& v) {
  return "outcome " + std::to_string(static_cast<int>(v.outcome)) + " left " +
         std::to_string(v.remaining) + "/" + std::to_string(v.quota) + " retry " +
         std::to_string(v.retry_after.count()) + " reset " + std::to_string(v.reset_after.count()) +
         " delay " + std::to_string(v.delay.count()) + " next " +
         std::to_string(v.next_after.count()) + " known " + std::to_string(v.retry_known);
}

// What a failure says: how to see it again.
inline std::string replay(std::uint64_t seed) {
  return "seed " + std::to_string(seed) +
         "; replay all of this run with WEIR_SEED=" + std::to_string(run_seed());
}

inline std::string algorithm_name(const ::testing::TestParamInfo<Algorithm>& tested) {
  constexpr const char* kNames[] = {"TokenBucket", "LeakyBucket",    "FixedWindow",
                                    "SlidingLog",  "SlidingCounter", "Concurrency"};
  return kNames[static_cast<std::size_t>(tested.param)];
}

// All that decide by numbers.
inline auto every_algorithm() {
  return ::testing::Values(Algorithm::kTokenBucket, Algorithm::kLeakyBucket,
                           Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                           Algorithm::kSlidingCounter, Algorithm::kConcurrency);
}

}  // namespace weir::oracle
