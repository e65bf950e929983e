#include "limit/sliding_counter.h"

#include "limit/window.h"

namespace weir::limit {

Result<SlidingCounterRule> SlidingCounterRule::make(const SlidingCounter& numbers) {
  if (auto error = check_window(numbers.window, 2)) return *std::move(error);
  return SlidingCounterRule(numbers.limit, numbers.window.count(), numbers.align);
}

Step SlidingCounterRule::decide(const State* state, std::uint64_t cost, std::int64_t now) const {
  Step step;
  View seen = view(state, now);
  if (cost > limit_) {
    step.verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && !admits(seen, cost, now)) {
    step.verdict.outcome = Outcome::kDenied;
    step.verdict.retry_after = Duration(admits_at(seen, cost, now) - now);
    step.write = seen.clamped;
  } else if (cost > 0) {
    seen.current += cost;
    step.write = true;
  }
  if (step.write) step.next = encode(seen);
  report(seen, now, step.verdict);
  return step;
}

std::optional<State> SlidingCounterRule::refund(const State& state, std::uint64_t cost,
                                                std::int64_t now,
                                                std::optional<std::int64_t> charged_at) const {
  View seen = view(&state, now);
  const auto take_back = [&cost](std::uint64_t& count) {
    const std::uint64_t back = std::min(cost, count);
    count -= back;
    cost -= back;
  };
  const std::int64_t at = charged_at.value_or(now);
  if (at >= seen.start) take_back(seen.current);
  if (!charged_at || (at < seen.start && at >= seen.start - window_)) take_back(seen.previous);
  if (empty_at(seen, now) <= now) return std::nullopt;
  return encode(seen);
}

std::optional<State> SlidingCounterRule::overdraw(const State* state, std::uint64_t cost,
                                                  std::int64_t now,
                                                  std::optional<std::int64_t> charged_at) const {
  View seen = view(state, now);
  const std::int64_t at = charged_at.value_or(now);
  if (at < seen.start - window_) return std::nullopt;
  std::uint64_t& count = at >= seen.start ? seen.current : seen.previous;
  count = counted_up(count, cost);
  return encode(seen);
}

std::optional<State> SlidingCounterRule::adopt(const SlidingCounterRule& older, const State& state,
                                               std::int64_t now) const {
  if (older.window_ != window_ || older.align_ != align_ || fresh_at(state) <= now) {
    return std::nullopt;
  }
  return state;
}

std::int64_t SlidingCounterRule::fresh_at(const State& state) const {
  const auto start = static_cast<std::int64_t>(state.word[0]);
  if (state.word[1] > 0) return start + 2 * window_;
  return state.word[2] > 0 ? start + window_ : start;
}

SlidingCounterRule::View SlidingCounterRule::view(const State* state, std::int64_t now) const {
  View fresh;
  fresh.start = align_ == Align::kFirst ? now : epoch_start(now, window_);
  if (state == nullptr || fresh_at(*state) <= now) return fresh;
  View seen{static_cast<std::int64_t>(state->word[0]), state->word[1], state->word[2], false};
  if (now < seen.start) {
    seen.start = fresh.start;
    seen.clamped = true;
  } else if (now - seen.start >= window_) {
    seen.start += window_;
    seen.previous = seen.current;
    seen.current = 0;
  }
  return seen;
}

State SlidingCounterRule::encode(const View& view) {
  return State{{static_cast<std::uint64_t>(view.start), view.current, view.previous}};
}

Wide SlidingCounterRule::estimate(const View& view, std::int64_t now) const {
  const std::int64_t covered = window_ - (now - view.start);
  return wide_product(view.current, static_cast<std::uint64_t>(window_)) +
         wide_product(view.previous, static_cast<std::uint64_t>(covered));
}

bool SlidingCounterRule::admits(const View& view, std::uint64_t cost, std::int64_t now) const {
  const auto window = static_cast<std::uint64_t>(window_);
  return estimate(view, now) + wide_product(cost, window) <= wide_product(limit_, window);
}

std::int64_t SlidingCounterRule::admits_at(const View& view, std::uint64_t cost,
                                           std::int64_t now) const {
  if (admits(view, cost, now)) return now;
  // The part of the earlier window that may still be covered: room / calls of it, in windows.
  const auto uncovered_at = [this](std::int64_t start, std::uint64_t room, std::uint64_t calls) {
    const Wide covered = wide_product(room, static_cast<std::uint64_t>(window_)) / calls;
    return start + window_ - static_cast<std::int64_t>(covered);
  };
  const std::uint64_t room = limit_ - cost;
  if (view.current <= room) return uncovered_at(view.start, room - view.current, view.previous);
  return uncovered_at(view.start + window_, room, view.current);
}

std::int64_t SlidingCounterRule::empty_at(const View& view, std::int64_t now) const {
  if (view.current > 0) return view.start + 2 * window_;
  return view.previous > 0 ? view.start + window_ : now;
}

void SlidingCounterRule::report(const View& view, std::int64_t now, Verdict& verdict) const {
  const auto window = static_cast<std::uint64_t>(window_);
  const Wide full = wide_product(limit_, window);
  const Wide used = estimate(view, now);
  verdict.quota = limit_;
  verdict.remaining = used >= full ? 0 : static_cast<std::uint64_t>(floor_div(full - used, window));
  verdict.reset_after = Duration(empty_at(view, now) - now);
  if (verdict.remaining == limit_) return;
  verdict.next_after = Duration(admits_at(view, verdict.remaining + 1, now) - now);
}

}  // namespace weir::limit
