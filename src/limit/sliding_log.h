// Sliding log: every admitted call of the last window, so that "limit in any window" holds to the
// tick. A call exactly one window old no longer counts.
//
// The store keeps the calls as marks, oldest first; calls of one moment share one. A mark holds the
// sum of all calls up to it, so that what is used, and when enough of it will have left, are binary
// searches: O(log n). There are never more marks than calls in the window, so the limit bounds
// them, and a limit above kMaxMarks is refused.
//
// A mark in the future, left by a clock that ran ahead, counts as made now (LogStep::clamp).
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "limit/state.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

inline constexpr std::uint64_t kMaxMarks = 1'000'000;

struct Mark {
  std::int64_t at = 0;
  std::uint64_t total = 0;  // calls up to and including these, modulo 2^64
};

struct LogView {
  std::span<const Mark> marks;
  std::uint64_t before = 0;  // the total before the first of them
};

// What becomes of a log: drop the `expired` oldest marks and append `cost` calls at `at`, if
// `charge`; set marks later than `at` to it, if `clamp`.
struct LogStep {
  Verdict verdict;
  std::int64_t at = 0;
  std::size_t expired = 0;
  bool charge = false;
  bool clamp = false;
};

class SlidingLogRule {
 public:
  // ERRORS: kInvalid where the window is not more than 0 and at most 100 years, or the limit is
  // above kMaxMarks.
  static Result<SlidingLogRule> make(const SlidingLog& numbers);

  std::uint64_t quota() const { return limit_; }
  std::int64_t window() const { return window_; }

  LogStep decide(const LogView& log, std::uint64_t cost, std::int64_t now) const;

 private:
  SlidingLogRule(std::uint64_t limit, std::int64_t window) : limit_(limit), window_(window) {}

  // The calls that count at one moment.
  struct Live {
    std::span<const Mark> marks;
    std::uint64_t before = 0;
    std::uint64_t used = 0;
  };
  Live live(const LogView& log, std::int64_t now) const;
  // How long until `calls` of them have left. REQUIRES: calls > 0. Those that are no mark yet are
  // made now.
  Duration until_left(const Live& live, std::uint64_t calls, std::int64_t now) const;

  std::uint64_t limit_;
  std::int64_t window_;
};

}  // namespace weir::limit
