// Decision: allowed or not, and why. "Not yet" and "never" are different outcomes.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <string_view>

#include "weir/time.h"

namespace weir {

enum class Outcome : std::uint8_t {
  kAllowed,  // admitted, and charged
  kDenied,   // not yet: ask again after `retry_after`
  kNever,    // no wait will help: the cost is above the quota, or what is used up never refills
};

// Where an answer came from.
enum class Source : std::uint8_t {
  kMemory,
  kRedis,
  kLease,
  kDenyCache,
  kLocal,
  kFailOpen,
  kFailClosed,
  kExempt,
};

// Why a request was refused, beside "the limit is used up", which needs no word.
enum class Reason : std::uint8_t {
  kNone,
  kCostExceedsLimit,    // Outcome::kNever, and the cost is above the quota
  kMissingKey,          // an attribute of the key is missing, and the limit says `missing: deny`
  kBlocked,             // an entry of `block` refuses the request
  kBanned,              // it is banned, by the admin API or for too many refusals
  kLimiterUnavailable,  // the store failed, and the limit says `on_error: deny`
};

// What one rule answers to one call. Amounts are tokens (calls, for windows).
struct Verdict {
  Outcome outcome = Outcome::kAllowed;
  std::uint64_t quota = 0;      // what the full limit holds
  std::uint64_t remaining = 0;  // after the call: 0 to quota
  // From `now`. Durations are whole ticks (1 ns), rounded up, never negative.
  Duration retry_after{0};  // denied: the first moment at which the same call is admitted
  bool retry_known = true;  // false where only a bound is known (concurrency): retry_after is it
  Duration reset_after{0};  // until the state equals fresh
  Duration delay{0};        // admitted by a leaky bucket: how long to hold the call
  Duration next_after{0};   // until `remaining` grows by one; 0 where remaining == quota

  bool allowed() const { return outcome == Outcome::kAllowed; }
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The words of the contract, as they appear on every wire and in metrics.
constexpr std::string_view to_string(Source source) {
  switch (source) {
    case Source::kMemory:
      return "memory";
    case Source::kRedis:
      return "redis";
    case Source::kLease:
      return "lease";
    case Source::kDenyCache:
      return "deny_cache";
    case Source::kLocal:
      return "local";
    case Source::kFailOpen:
      return "fail_open";
    case Source::kFailClosed:
      return "fail_closed";
    case Source::kExempt:
      return "exempt";
  }
  return "";
}

constexpr std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kCostExceedsLimit:
      return "cost_exceeds_limit";
    case Reason::kMissingKey:
      return "missing_key";
    case Reason::kBlocked:
      return "blocked";
    case Reason::kBanned:
      return "banned";
    case Reason::kLimiterUnavailable:
      return "limiter_unavailable";
  }
  return "";
}

}  // namespace weir
