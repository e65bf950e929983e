#include "oracle/window_models.h"

#include <algorithm>

namespace weir::oracle {
namespace {

std::int64_t floor_multiple(std::int64_t value, std::int64_t step) {
  const Integer quotient = floor(Fraction(Integer(value), Integer(step)));
  return static_cast<std::int64_t>(quotient * step);
}

// Takes up to `cost` calls out of those that `from` names, the last of them first, or the first.
void take_out(std::vector<Call>& calls, std::uint64_t& cost, bool last_first,
              const std::function<bool(const Call&)>& from) {
  const auto take = [&](Call& call) {
    if (!from(call)) return;
    const std::uint64_t taken = std::min(cost, call.cost);
    call.cost -= taken;
    cost -= taken;
  };
  if (last_first) {
    std::for_each(calls.rbegin(), calls.rend(), take);
  } else {
    std::for_each(calls.begin(), calls.end(), take);
  }
  std::erase_if(calls, [](const Call& call) { return call.cost == 0; });
}

}  // namespace

Window FixedWindowModel::window(std::int64_t now) const {
  if (const auto* calendar = std::get_if<Calendar>(&numbers_.window)) {
    return calendar_window(*calendar, now);
  }
  const std::int64_t length = std::get<Duration>(numbers_.window).count();
  if (numbers_.align == Align::kEpoch) {
    const std::int64_t start = floor_multiple(now, length);
    return Window{start, start + length};
  }
  const bool running = first_ && now < *first_ + length;
  return running ? Window{*first_, *first_ + length} : Window{now, now + length};
}

Integer FixedWindowModel::used(const Window& window) const {
  Integer sum = 0;
  for (const Call& call : calls_) {
    if (call.at.wall_ns >= window.start && call.at.wall_ns < window.end) sum += call.cost;
  }
  return sum;
}

Verdict FixedWindowModel::ask(std::uint64_t cost, Instant now, bool charge) {
  const Window current = window(now.wall_ns);
  const Duration to_end(current.end - now.wall_ns);
  Verdict verdict;
  if (cost > numbers_.limit) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && used(current) + cost > numbers_.limit) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = to_end;
  } else if (cost > 0 && charge) {
    first_ = current.start;
    calls_.push_back({now, cost});
  }
  const Integer count = used(current);
  verdict.quota = numbers_.limit;
  verdict.remaining =
      count >= numbers_.limit ? 0 : static_cast<std::uint64_t>(numbers_.limit - count);
  if (count > 0) verdict.reset_after = verdict.next_after = to_end;
  if (verdict.remaining == verdict.quota) verdict.next_after = Duration(0);
  return verdict;
}

void FixedWindowModel::refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) {
  const Window current = window(now.wall_ns);
  const std::int64_t at = charged_at.value_or(now).wall_ns;
  if (at < current.start || at >= current.end) return;
  take_out(calls_, cost, true, [&](const Call& call) {
    return call.at.wall_ns >= current.start && call.at.wall_ns < current.end;
  });
  if (used(current) == 0) first_.reset();
}

void FixedWindowModel::overdraw(std::uint64_t cost, Instant now,
                                std::optional<Instant> charged_at) {
  const Window current = window(now.wall_ns);
  const Instant at = charged_at.value_or(now);
  if (cost == 0 || at.wall_ns < current.start || at.wall_ns >= current.end) return;
  first_ = current.start;
  calls_.push_back({at, cost});
}

std::int64_t SlidingCounterModel::start(std::int64_t now) const {
  const std::int64_t length = numbers_.window.count();
  if (numbers_.align == Align::kEpoch) return floor_multiple(now, length);
  return anchor_ + floor_multiple(now - anchor_, length);
}

Integer SlidingCounterModel::calls_in(std::int64_t start) const {
  Integer sum = 0;
  for (const Call& call : calls_) {
    const std::int64_t at = call.at.steady_ns;
    if (at >= start && at < start + numbers_.window.count()) sum += call.cost;
  }
  return sum;
}

Fraction SlidingCounterModel::estimate(std::int64_t now) const {
  const std::int64_t current = start(now);
  const Integer length = numbers_.window.count();
  const Fraction elapsed(Integer(now - current), length);
  return Fraction(calls_in(current)) +
         Fraction(calls_in(current - numbers_.window.count())) * (1 - elapsed);
}

Duration SlidingCounterModel::until_at_most(const Fraction& level, std::int64_t now) const {
  if (estimate(now) <= level) return Duration(0);
  std::int64_t above = now;
  std::int64_t below = now + 2 * numbers_.window.count();
  while (below - above > 1) {
    const std::int64_t middle = above + (below - above) / 2;
    (estimate(middle) <= level ? below : above) = middle;
  }
  return Duration(below - now);
}

Verdict SlidingCounterModel::ask(std::uint64_t cost, Instant now, bool charge) {
  const std::int64_t ns = now.steady_ns;
  std::erase_if(calls_, [&](const Call& call) {
    return call.at.steady_ns < ns - 3 * numbers_.window.count();
  });
  const Fraction limit = Integer(numbers_.limit);
  Verdict verdict;
  if (cost > numbers_.limit) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && estimate(ns) + Integer(cost) > limit) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = until_at_most(limit - Integer(cost), ns);
  } else if (cost > 0 && charge) {
    if (estimate(ns) == 0) {
      calls_.clear();
      anchor_ = ns;
    }
    calls_.push_back({now, cost});
  }
  const Fraction room = limit - estimate(ns);
  verdict.quota = numbers_.limit;
  verdict.remaining = room <= 0 ? 0 : static_cast<std::uint64_t>(floor(room));
  verdict.reset_after = until_at_most(0, ns);
  if (verdict.remaining < numbers_.limit) {
    verdict.next_after = until_at_most(limit - Integer(verdict.remaining) - 1, ns);
  }
  return verdict;
}

void SlidingCounterModel::refund(std::uint64_t cost, Instant now,
                                 std::optional<Instant> charged_at) {
  const std::int64_t length = numbers_.window.count();
  const std::int64_t current = start(now.steady_ns);
  const auto from = [&](std::int64_t window) {
    return [window, length](const Call& call) {
      return call.at.steady_ns >= window && call.at.steady_ns < window + length;
    };
  };
  const std::int64_t at = charged_at.value_or(now).steady_ns;
  if (at >= current) take_out(calls_, cost, true, from(current));
  if (!charged_at || (at < current && at >= current - length)) {
    take_out(calls_, cost, true, from(current - length));
  }
}

void SlidingCounterModel::overdraw(std::uint64_t cost, Instant now,
                                   std::optional<Instant> charged_at) {
  if (cost == 0) return;
  if (estimate(now.steady_ns) == 0) {
    calls_.clear();
    anchor_ = now.steady_ns;
  }
  const Instant at = charged_at.value_or(now);
  if (at.steady_ns >= start(now.steady_ns) - numbers_.window.count()) calls_.push_back({at, cost});
}

Integer LogModel::counted_at(std::int64_t moment) const {
  Integer sum = 0;
  for (const Call& call : calls_) {
    if (Integer(moment) - call.at.steady_ns < window_.count()) sum += call.cost;
  }
  return sum;
}

Duration LogModel::until_at_most(const Integer& count, std::int64_t now) const {
  if (counted_at(now) <= count) return Duration(0);
  for (const Call& call : calls_) {
    const std::int64_t leaves = call.at.steady_ns + window_.count();
    if (leaves > now && counted_at(leaves) <= count) return Duration(leaves - now);
  }
  return Duration(0);
}

Verdict LogModel::ask(std::uint64_t cost, Instant now, bool charge) {
  const std::int64_t ns = now.steady_ns;
  std::erase_if(
      calls_, [&](const Call& call) { return Integer(ns) - call.at.steady_ns >= window_.count(); });
  Verdict verdict;
  if (cost > limit_) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && counted_at(ns) + cost > limit_) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = until_at_most(Integer(limit_) - cost, ns);
    verdict.retry_known = !flight_;
  } else if (cost > 0 && charge) {
    calls_.push_back({now, cost});
  }
  const Integer count = counted_at(ns);
  verdict.quota = limit_;
  verdict.remaining = count >= limit_ ? 0 : static_cast<std::uint64_t>(limit_ - count);
  if (flight_) return verdict;
  verdict.reset_after = until_at_most(0, ns);
  if (verdict.remaining < limit_) {
    verdict.next_after = until_at_most(Integer(limit_) - verdict.remaining - 1, ns);
  }
  return verdict;
}

void LogModel::add(Instant at, std::uint64_t cost) {
  const auto later = [](const Instant& a, const Call& b) { return a.steady_ns < b.at.steady_ns; };
  calls_.insert(std::upper_bound(calls_.begin(), calls_.end(), at, later), {at, cost});
}

void LogModel::overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) {
  const Instant at = charged_at.value_or(now);
  if (cost > 0 && Integer(now.steady_ns) - at.steady_ns < window_.count()) add(at, cost);
}

void LogModel::renew(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) {
  if (!flight_) return;
  std::uint64_t left = cost;
  take_out(calls_, left, false, [&](const Call& call) {
    const bool counts = Integer(now.steady_ns) - call.at.steady_ns < window_.count();
    return counts && (!charged_at || call.at.steady_ns == charged_at->steady_ns);
  });
  if (left < cost) add(now, cost - left);
}

void LogModel::refund(std::uint64_t cost, Instant, std::optional<Instant> charged_at) {
  take_out(calls_, cost, !flight_, [&](const Call& call) {
    return !charged_at || call.at.steady_ns == charged_at->steady_ns;
  });
}

}  // namespace weir::oracle
