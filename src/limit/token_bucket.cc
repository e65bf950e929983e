#include "limit/token_bucket.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace weir::limit {
namespace {

Error takes_too_long(const TokenBucket& numbers, Wide largest) {
  return Error{ErrorCode::kInvalid,
               "burst " + std::to_string(numbers.burst) + " at " +
                   std::to_string(numbers.rate.count) + " per " +
                   std::to_string(numbers.rate.period.count()) +
                   "ns takes more than 100 years to refill; the largest burst at this rate is " +
                   std::to_string(static_cast<std::uint64_t>(largest))};
}

}  // namespace

Result<TokenBucketRule> TokenBucketRule::make(const TokenBucket& numbers) {
  const Rate& rate = numbers.rate;
  if (rate.period.count() <= 0) {
    return Error{ErrorCode::kInvalid, "the period of a rate is " +
                                          std::to_string(rate.period.count()) +
                                          "ns, must be more than 0"};
  }
  if (rate.count == 0) return TokenBucketRule(numbers, 1, 0);
  const auto period = static_cast<std::uint64_t>(rate.period.count());
  const std::uint64_t common = std::gcd(period, rate.count);
  const TokenBucketRule rule(numbers, period / common, rate.count / common);
  const Wide reach = wide_product(static_cast<std::uint64_t>(kMaxSpanNs), rule.unit_);
  if (rule.capacity_ > reach) return takes_too_long(numbers, floor_div(reach, rule.step_));
  return rule;
}

Step TokenBucketRule::decide(const State* state, std::uint64_t cost, std::int64_t now) const {
  Step step;
  const Debt debt = debt_of(state, now);
  Wide ticks = debt.ticks;
  if (cost > burst_) {
    step.verdict.outcome = Outcome::kNever;
  } else if (const Wide after = ticks + wide_product(cost, step_); cost > 0 && after > capacity_) {
    const std::int64_t wait_ns = ns_for(after - capacity_);
    step.verdict.outcome = wait_ns == kNeverNs ? Outcome::kNever : Outcome::kDenied;
    if (wait_ns != kNeverNs) step.verdict.retry_after = Duration(wait_ns);
    step.write = debt.clamped;
  } else if (cost > 0) {
    ticks = after;
    step.write = true;
  }
  if (step.write) step.next = encode(ticks, now);
  report(ticks, step.verdict);
  return step;
}

Duration TokenBucketRule::wait(const State* state, std::int64_t now) const {
  return Duration(ns_for(debt_of(state, now).ticks));
}

std::optional<State> TokenBucketRule::refund(const State& state, std::uint64_t cost,
                                             std::int64_t now) const {
  const Wide debt = debt_of(&state, now).ticks;
  const Wide back = wide_product(cost, step_);
  if (back >= debt) return std::nullopt;
  return encode(debt - back, now);
}

State TokenBucketRule::overdraw(const State* state, std::uint64_t cost, std::int64_t now) const {
  const Wide debt = debt_of(state, now).ticks;
  const Wide room = std::max(most_debt(), debt) - debt;
  return encode(debt + std::min(wide_product(cost, step_), room), now);
}

std::optional<State> TokenBucketRule::adopt(const TokenBucketRule& older, const State& state,
                                            std::int64_t now) const {
  const Wide debt = std::min(older.debt_of(&state, now).ticks, older.capacity_);
  if (debt == 0) return std::nullopt;
  if (keeps_time_ && unit_ != 0 && older.unit_ != 0) {
    const auto ns = static_cast<std::uint64_t>(older.ns_for(debt));
    return encode(std::min(wide_product(ns, unit_), capacity_), now);
  }
  const Wide left = older.capacity_ - debt;
  const Wide whole = floor_div(left, older.step_);
  if (whole >= burst_) return std::nullopt;
  // The part of a token left over is rounded down by less than one tick: never over the limit.
  const auto part = static_cast<std::uint64_t>(left - whole * older.step_);
  const Wide missing = (burst_ - whole) * step_ - floor_div(wide_product(part, step_), older.step_);
  return encode(missing, now);
}

std::int64_t TokenBucketRule::fresh_at(const State& state) const {
  if (unit_ == 0) return state.word[0] == 0 ? std::numeric_limits<std::int64_t>::min() : kNeverNs;
  return static_cast<std::int64_t>(state.word[0]) + (state.word[1] == 0 ? 0 : 1);
}

TokenBucketRule::Debt TokenBucketRule::debt_of(const State* state, std::int64_t now) const {
  if (state == nullptr) return {};
  Debt debt;
  if (unit_ == 0) {
    debt.ticks = state->word[0];
  } else {
    const auto full_at = static_cast<std::int64_t>(state->word[0]);
    if (full_at < now) return {};
    // Both lie within reach of 0, so the difference fits 64 unsigned bits, and the product 128.
    const std::uint64_t ahead =
        static_cast<std::uint64_t>(full_at) - static_cast<std::uint64_t>(now);
    if (ahead > static_cast<std::uint64_t>(kMaxSpanNs)) return Debt{capacity_, true};
    debt.ticks = wide_product(ahead, unit_) + state->word[1];
  }
  // More than everything is missing where the bucket owes it, or a clock ran ahead.
  const Wide most = capacity_ + wide_product(state->word[2], unit_);
  if (debt.ticks > most) debt = Debt{most, true};
  return debt;
}

Wide TokenBucketRule::most_debt() const {
  return unit_ == 0 ? capacity_ : wide_product(static_cast<std::uint64_t>(kMaxSpanNs), unit_);
}

State TokenBucketRule::encode(Wide debt, std::int64_t now) const {
  State state;
  if (unit_ == 0) {
    state.word[0] = static_cast<std::uint64_t>(debt);
    return state;
  }
  const Wide ns = floor_div(debt, unit_);
  state.word[0] = static_cast<std::uint64_t>(now + static_cast<std::int64_t>(ns));
  state.word[1] = static_cast<std::uint64_t>(debt - ns * unit_);
  if (debt > capacity_) {
    state.word[2] = static_cast<std::uint64_t>(ceil_div(debt - capacity_, unit_));
  }
  return state;
}

std::int64_t TokenBucketRule::ns_for(Wide ticks) const {
  if (ticks == 0) return 0;
  return unit_ == 0 ? kNeverNs : static_cast<std::int64_t>(ceil_div(ticks, unit_));
}

void TokenBucketRule::report(Wide debt, Verdict& verdict) const {
  const Wide left = debt < capacity_ ? capacity_ - debt : 0;
  verdict.quota = burst_;
  verdict.remaining = static_cast<std::uint64_t>(floor_div(left, step_));
  // A bucket that never refills says 100 years, which no real one can reach.
  verdict.reset_after = Duration(std::min(ns_for(debt), kMaxSpanNs));
  if (verdict.remaining == burst_) return;
  const Wide missing = (Wide{verdict.remaining} + 1) * step_ + debt - capacity_;
  verdict.next_after = Duration(std::min(ns_for(missing), kMaxSpanNs));
}

}  // namespace weir::limit
