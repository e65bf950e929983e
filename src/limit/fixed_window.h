// Fixed window: the calls of the window that holds now; at its end the count starts again.
//
// Windows lie on the wall clock: at multiples of their length since the epoch, from a key's first
// call (align: first), or by the calendar of a time zone. Up to twice the limit can pass around the
// end of a window; who minds takes a sliding one.
//
// word 0: start of the window; word 1: its end; word 2: its calls. A window in the future, left by
// a wall clock that was stepped back, becomes the one that holds now, and keeps its calls: nobody
// is refused for longer than one window, nor gets a second limit by it.
//
// No clock, no key, no lock. THREADS: immutable; any.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "limit/calendar.h"
#include "limit/state.h"
#include "weir/numbers.h"
#include "weir/result.h"

namespace weir::limit {

class FixedWindowRule {
 public:
  // ERRORS: kInvalid where the window is not more than 0 and at most 100 years, or the time zone is
  // unknown.
  static Result<FixedWindowRule> make(const FixedWindow& numbers);

  std::uint64_t quota() const { return limit_; }

  Step decide(const State* state, std::uint64_t cost, std::int64_t now) const;

  // Takes back from the current window, unless `charged_at` lies in another.
  std::optional<State> refund(const State& state, std::uint64_t cost, std::int64_t now,
                              std::optional<std::int64_t> charged_at) const;

  // Counts `cost` though it may be above the limit; nothing where `charged_at` lies in another
  // window than the current one.
  std::optional<State> overdraw(const State* state, std::uint64_t cost, std::int64_t now,
                                std::optional<std::int64_t> charged_at) const;

  // What was used stays used, at whatever new limit. REQUIRES: the windows are the same.
  std::optional<State> adopt(const State& state, std::int64_t now) const;

  std::int64_t fresh_at(const State& state) const;

 private:
  struct View {
    CalendarWindows::Span window;
    std::uint64_t calls = 0;
    bool clamped = false;
  };
  struct Length {
    std::int64_t ns = 0;
    Align align = Align::kEpoch;
  };
  using Windows = std::variant<Length, CalendarWindows>;

  FixedWindowRule(std::uint64_t limit, Windows windows) : limit_(limit), windows_(windows) {}

  CalendarWindows::Span window_at(std::int64_t now) const;
  View view(const State* state, std::int64_t now) const;
  static State encode(const View& view);

  std::uint64_t limit_;
  Windows windows_;
};

}  // namespace weir::limit
