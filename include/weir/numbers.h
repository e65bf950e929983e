// The numbers of a limit, as a person writes them: which algorithm, how much, how fast.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "weir/time.h"

namespace weir {

// `count` tokens per `period`, exactly: 0.2/s is 1 per 5 s, 1/3s stays one third a second.
// count 0 never refills. REQUIRES: period > 0.
struct Rate {
  std::uint64_t count = 0;
  Duration period{std::chrono::seconds(1)};

  friend bool operator==(const Rate&, const Rate&) = default;
};

// Starts full with `burst` tokens, refills continuously at `rate`, never above `burst`.
struct TokenBucket {
  Rate rate;
  std::uint64_t burst = 1;
  // What a key keeps when its numbers change: false, the tokens that are left; true, the time until
  // it is full, at most the new one (numbers that come with each call, as CL.THROTTLE's).
  bool keeps_time = false;
  friend bool operator==(const TokenBucket&, const TokenBucket&) = default;
};

// Slots 1/rate apart; a call waits (`delay`) for the next free one, at most `queue` calls wait.
struct LeakyBucket {
  Rate rate;
  std::uint64_t queue = 0;
  friend bool operator==(const LeakyBucket&, const LeakyBucket&) = default;
};

enum class Align : std::uint8_t {
  kEpoch,  // windows start at whole multiples of their length since the Unix epoch
  kFirst,  // a key's window starts at its first call
};

enum class CalendarUnit : std::uint8_t { kMinute, kHour, kDay, kWeek, kMonth, kYear };

// A window of the calendar in a time zone (IANA name). Weeks begin on Monday.
struct Calendar {
  CalendarUnit unit = CalendarUnit::kDay;
  std::string timezone = "UTC";
  friend bool operator==(const Calendar&, const Calendar&) = default;
};

using FixedSpan = std::variant<Duration, Calendar>;

struct FixedWindow {
  std::uint64_t limit = 0;
  FixedSpan window = Duration(std::chrono::seconds(1));
  Align align = Align::kEpoch;  // only with a Duration
  friend bool operator==(const FixedWindow&, const FixedWindow&) = default;
};

struct SlidingLog {
  std::uint64_t limit = 0;
  Duration window{std::chrono::seconds(1)};
  friend bool operator==(const SlidingLog&, const SlidingLog&) = default;
};

struct SlidingCounter {
  std::uint64_t limit = 0;
  Duration window{std::chrono::seconds(1)};
  Align align = Align::kEpoch;
  friend bool operator==(const SlidingCounter&, const SlidingCounter&) = default;
};

// Calls in flight. A call leaves when released, or `timeout` after it came.
struct Concurrency {
  std::uint64_t limit = 0;
  Duration timeout{std::chrono::seconds(60)};
  friend bool operator==(const Concurrency&, const Concurrency&) = default;
};

struct Unlimited {
  friend bool operator==(const Unlimited&, const Unlimited&) = default;
};

using Numbers = std::variant<TokenBucket, LeakyBucket, FixedWindow, SlidingLog, SlidingCounter,
                             Concurrency, Unlimited>;

// In the order of Numbers' alternatives, so that Algorithm(numbers.index()) names them.
enum class Algorithm : std::uint8_t {
  kTokenBucket,
  kLeakyBucket,
  kFixedWindow,
  kSlidingLog,
  kSlidingCounter,
  kConcurrency,
  kUnlimited,
};

inline Algorithm algorithm_of(const Numbers& numbers) {
  return Algorithm(numbers.index());
}

}  // namespace weir
