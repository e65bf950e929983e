#include "limit/fixed_window.h"

#include <limits>

#include "limit/window.h"

namespace weir::limit {

Result<FixedWindowRule> FixedWindowRule::make(const FixedWindow& numbers) {
  if (const auto* calendar = std::get_if<Calendar>(&numbers.window)) {
    auto windows = CalendarWindows::make(*calendar);
    if (!windows) return windows.error();
    return FixedWindowRule(numbers.limit, *windows);
  }
  const Duration length = std::get<Duration>(numbers.window);
  if (auto error = check_window(length, 1)) return *std::move(error);
  return FixedWindowRule(numbers.limit, Length{length.count(), numbers.align});
}

Step FixedWindowRule::decide(const State* state, std::uint64_t cost, std::int64_t now) const {
  Step step;
  Verdict& verdict = step.verdict;
  View seen = view(state, now);
  const Duration to_end(seen.window.end - now);
  if (cost > limit_) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && seen.calls > limit_ - cost) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = to_end;
    step.write = seen.clamped;
  } else if (cost > 0) {
    seen.calls += cost;
    step.write = true;
  }
  if (step.write) step.next = encode(seen);
  verdict.quota = limit_;
  verdict.remaining = limit_ - std::min(seen.calls, limit_);
  if (seen.calls > 0) verdict.reset_after = to_end;
  if (verdict.remaining < limit_) verdict.next_after = to_end;
  return step;
}

std::optional<State> FixedWindowRule::refund(const State& state, std::uint64_t cost,
                                             std::int64_t now,
                                             std::optional<std::int64_t> charged_at) const {
  View seen = view(&state, now);
  const std::int64_t at = charged_at.value_or(now);
  if (at >= seen.window.start && at < seen.window.end) seen.calls -= std::min(cost, seen.calls);
  if (seen.calls == 0) return std::nullopt;
  return encode(seen);
}

std::optional<State> FixedWindowRule::overdraw(const State* state, std::uint64_t cost,
                                               std::int64_t now,
                                               std::optional<std::int64_t> charged_at) const {
  View seen = view(state, now);
  const std::int64_t at = charged_at.value_or(now);
  if (at < seen.window.start || at >= seen.window.end) return std::nullopt;
  seen.calls = counted_up(seen.calls, cost);
  return encode(seen);
}

std::optional<State> FixedWindowRule::adopt(const State& state, std::int64_t now) const {
  if (fresh_at(state) <= now) return std::nullopt;
  return state;
}

std::int64_t FixedWindowRule::fresh_at(const State& state) const {
  if (state.word[2] == 0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(state.word[1]);
}

CalendarWindows::Span FixedWindowRule::window_at(std::int64_t now) const {
  if (const auto* calendar = std::get_if<CalendarWindows>(&windows_)) return calendar->holding(now);
  const Length& length = std::get<Length>(windows_);
  const std::int64_t start = length.align == Align::kFirst ? now : epoch_start(now, length.ns);
  return CalendarWindows::Span{start, start + length.ns};
}

// WHY the stored end: a window that still runs costs no look at the calendar.
FixedWindowRule::View FixedWindowRule::view(const State* state, std::int64_t now) const {
  if (state == nullptr) return View{window_at(now)};
  const auto start = static_cast<std::int64_t>(state->word[0]);
  const auto end = static_cast<std::int64_t>(state->word[1]);
  if (now >= end) return View{window_at(now)};
  if (now < start) return View{window_at(now), state->word[2], true};
  return View{CalendarWindows::Span{start, end}, state->word[2]};
}

State FixedWindowRule::encode(const View& view) {
  return State{{static_cast<std::uint64_t>(view.window.start),
                static_cast<std::uint64_t>(view.window.end), view.calls}};
}

}  // namespace weir::limit
