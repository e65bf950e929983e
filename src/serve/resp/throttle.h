// The arithmetic around CL.THROTTLE and THROTTLE: arguments to numbers, verdicts to replies.
//
//   CL.THROTTLE key max_burst count period [quantity]
//     -> [limited 0|1, max_burst + 1, remaining, retry_after or -1, reset_after]
//   THROTTLE key max_burst count period [quantity]
//     -> [allowed 0|1, max_burst, remaining, reset_after, retry_after]
//
// Both are token buckets of our own state; seconds are rounded up on any remainder. A negative
// quantity of CL.THROTTLE gives back, clamped at full; THROTTLE refuses it.
//
// THREADS: pure functions.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::resp {

struct Throttle {
  std::string_view key;
  TokenBucket numbers;
  std::uint64_t cost = 1;
  bool refund = false;
};

inline constexpr std::size_t kMaxKeyBytes = 64 * 1024;

// REQUIRES: 5 or 6 arguments. ERRORS: kInvalid, naming the argument and what is allowed.
Result<Throttle> read_cl_throttle(std::span<const std::string_view> arguments);
Result<Throttle> read_throttle(std::span<const std::string_view> arguments);

using FiveIntegers = std::array<std::int64_t, 5>;

FiveIntegers cl_throttle_reply(const Verdict& verdict);
FiveIntegers throttle_reply(const Verdict& verdict);

}  // namespace weir::resp
