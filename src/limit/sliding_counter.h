// Sliding counter: the calls of this window, and those of the one before, weighted by how much of
// it a window ending now still covers.
//
//   estimate = current + previous x (1 - elapsed / window);   admits: estimate + cost <= limit
//
// Multiplied by the window, so that all of it is exact: current and previous are below 2^64, the
// window below 2^62, and every sum below 2^128. The estimate is continuous and never rises without
// a call, so that "when will it admit" has one answer, in this window or in the next.
//
// word 0: start of the current window; word 1: its calls; word 2: the calls of the window before.
// Windows start at multiples of their length since the epoch, or (align: first) at a key's first
// call. A start in the future, left by a clock that ran ahead, is moved to now's window.
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <optional>

#include "base/wide.h"
#include "limit/state.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

class SlidingCounterRule {
 public:
  // ERRORS: kInvalid where the window is not more than 0 and at most 50 years (a key is
  // fresh again after two of them).
  static Result<SlidingCounterRule> make(const SlidingCounter& numbers);

  std::uint64_t quota() const { return limit_; }

  Step decide(const State* state, std::uint64_t cost, std::int64_t now) const;

  // Takes back from the window in which `charged_at` lies, or, where it is not known, from the
  // current window and then the one before.
  std::optional<State> refund(const State& state, std::uint64_t cost, std::int64_t now,
                              std::optional<std::int64_t> charged_at) const;

  // Counts `cost` though it may be above the limit, in the window in which `charged_at` lies;
  // nothing where that is neither the current one nor the one before.
  std::optional<State> overdraw(const State* state, std::uint64_t cost, std::int64_t now,
                                std::optional<std::int64_t> charged_at) const;

  // What was used stays used, where the windows are the same.
  std::optional<State> adopt(const SlidingCounterRule& older, const State& state,
                             std::int64_t now) const;

  std::int64_t fresh_at(const State& state) const;

 private:
  // The state as seen at one moment.
  struct View {
    std::int64_t start = 0;
    std::uint64_t current = 0;
    std::uint64_t previous = 0;
    bool clamped = false;
  };

  SlidingCounterRule(std::uint64_t limit, std::int64_t window, Align align)
      : limit_(limit), window_(window), align_(align) {}

  View view(const State* state, std::int64_t now) const;
  static State encode(const View& view);
  Wide estimate(const View& view, std::int64_t now) const;  // x window
  bool admits(const View& view, std::uint64_t cost, std::int64_t now) const;
  // REQUIRES: cost <= limit. The first moment at which admits() holds, if nobody calls.
  std::int64_t admits_at(const View& view, std::uint64_t cost, std::int64_t now) const;
  std::int64_t empty_at(const View& view, std::int64_t now) const;
  void report(const View& view, std::int64_t now, Verdict& verdict) const;

  std::uint64_t limit_;
  std::int64_t window_;
  Align align_;
};

}  // namespace weir::limit
