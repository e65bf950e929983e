// Scalars: the small grammars of single values: counts, rates, durations, sizes.
//
// Text in, exact value or the place of the mistake out. No floating point anywhere: decimals are
// fractions of integers. A mistake's message says what is wrong and what is allowed; the caller
// puts the key's name in front of it ("burst " + message).
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::policy {

struct ScalarError {
  std::string message;     // "is '1e3', wants a whole number such as 1000"
  std::size_t offset = 0;  // byte of the text at which it goes wrong
};

template <typename T>
using Parsed = std::variant<T, ScalarError>;

// The largest count and the longest duration that any file may write.
inline constexpr std::uint64_t kLargestCount = 9'223'372'036'854'775'807;
inline constexpr Duration kLongestDuration = std::chrono::hours(24 * 36'525);  // 100 years

// [0-9]+, base ten: 010 is ten. Signs, 1e3, 0x10, 1_000, 1.0, inf and nan are refused.
Parsed<std::uint64_t> parse_count(std::string_view text);

// 1h30m, 1.5s, 250ms, or a bare number of seconds. Units us ms s m h d w, from long to short, each
// once. Exact: what is finer than 1 ns is refused.
Parsed<Duration> parse_duration(std::string_view text);

struct RateText {
  Rate rate;                 // reduced: 10/60s is 1 per 6 s
  std::uint64_t amount = 0;  // N as written, rounded up: the burst where none is given
  friend bool operator==(const RateText&, const RateText&) = default;
};

// N/UNIT, N/Mu (10/60s), "N per DURATION", or a bare N per second; N may have decimals. Units s,
// min, h, day, week, month (30 days); after a number also us, ms, d and w, but never m, which could
// be a minute or a month.
Parsed<RateText> parse_rate(std::string_view text);

// 4096, 64KiB, 1MiB, 2GiB (of 1024), 1kB, 1MB, 1GB (of 1000), in whole numbers.
Parsed<std::uint64_t> parse_size(std::string_view text);

}  // namespace weir::policy
