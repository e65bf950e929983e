// Scenarios: who calls when, and what must be answered, as text that a reader with a calculator can
// verify. One corpus (corpus/*.scenario), many harnesses; this is the parser they share.
//
// clang-format off
//   # Anything after a '#' is for the reader.
//   start 2026-01-01T00:00:00Z                      # what time 0 is; this one where left out
//   limit per_user token_bucket rate=10/60s burst=5 # one line for each limit, in file order
//   limit seen sliding_log limit=3 window=1h shadow
//   limit twice token_bucket rate=1/s burst=5 and rate=60/h burst=60  # several pairs of numbers
//
//   0  alice 1  -> allow left 4                     # TIME KEY COST -> what must be answered
//   0  alice 5  -> deny retry 6
//   0  alice 6  -> never
//   0  alice 1 x20 -> 4 allowed                     # twenty calls at that moment
//   0  alice 1 every 0.25 -> AAD AAD                # one call every 0.25 s: Allow, Deny, Never
//   0  global=-,per_ip=10.0.0.1 1 -> allow by per_ip  # only these limits, each by its own key
//   9  refund alice 1 charged 0                     # give back, in the window charged at 0
//   9  overdraw alice 3 charged 0                   # take though it may not be there, the same way
//   9  renew alice 1 charged 0                      # calls in flight since 0 count from now
//   9  reset alice
//   9  limit per_user token_bucket rate=20/60s burst=5  # a reload that changes this limit
//   9  wall -3600                                   # the wall clock steps, from here on
// clang-format on
//
// Times are seconds since `start`, with up to nine decimals, and may go back. A limit's numbers are
// named as in a policy file; rates as there (10/60s, 5/s, 0.05/s, 1/3s), durations as 250ms, 60s,
// 10m, 1h, 7d, or a bare number of seconds; window=day|week|... with timezone=... is the calendar.
// What must be answered: allow, deny or never, then any of `left N`, `retry S`, `reset S`,
// `delay S`, `next S` (seconds, exact to the nanosecond) of the limit that the decision names, and
// `by NAME`.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::scenario {

struct Limit {
  std::string name;
  Numbers numbers;
  bool shadow = false;
  std::vector<Numbers> more = {};  // its further pairs of numbers

  std::size_t pairs() const { return 1 + more.size(); }
  bool operator==(const Limit&) const = default;
};

// Which key each met limit counts by: one for all, or (limit, key) pairs.
struct Keys {
  std::string all;
  std::vector<std::pair<std::string, std::string>> each;

  // The key for this limit, or nothing where it is not met.
  std::optional<std::string> of(std::string_view limit) const;
};

struct Expectation {
  Outcome outcome = Outcome::kAllowed;
  std::optional<std::uint64_t> left;
  std::optional<Duration> retry, reset, delay, next;
  std::string by;  // empty: any
};

struct Take {
  Keys keys;
  std::uint64_t cost = 1;
  Expectation expected;
};

struct TakeMany {
  Keys keys;
  std::uint64_t cost = 1;
  std::uint64_t calls = 0;
  std::uint64_t allowed = 0;
};

struct TakeEvery {
  Keys keys;
  std::uint64_t cost = 1;
  Duration pause{0};
  std::string outcomes;  // one letter a call: A, D, N
};

// What becomes of calls that were charged.
enum class Change : std::uint8_t { kRefund, kOverdraw, kRenew };

struct Correct {
  Change change = Change::kRefund;
  Keys keys;
  std::uint64_t cost = 1;
  std::optional<Duration> charged;
};

struct Reset {
  Keys keys;
};

struct WallStep {
  Duration by{0};
};

using Action = std::variant<Take, TakeMany, TakeEvery, Correct, Reset, Limit, WallStep>;

struct Step {
  int line = 0;
  Duration at{0};  // since the start
  Action action;
};

struct Scenario {
  Instant start;
  std::vector<Limit> limits;
  std::vector<Step> steps;
};

// ERRORS: kInvalid, naming the line.
Result<Scenario> parse(std::string_view text);

// The parts, for other formats that name limits in the same way.
Result<Limit> parse_limit(const std::vector<std::string_view>& words);  // after "limit"
std::vector<std::string_view> split_words(std::string_view line);       // without its comment

}  // namespace weir::scenario
