// Limiters as tests of them make them. Tests only.
//
// THREADS: plain functions.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "weir/limiter.h"

namespace weir {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

inline Limiter make(const Numbers& numbers) {
  auto limiter = Limiter::make(numbers);
  EXPECT_TRUE(limiter.has_value()) << limiter.error().message;
  return *std::move(limiter);
}

inline Limiter bucket(std::uint64_t count, Duration period, std::uint64_t burst) {
  return make(TokenBucket{{count, period}, burst});
}

}  // namespace weir
