#include "oracle/bucket_models.h"

#include <algorithm>

namespace weir::oracle {
namespace {

constexpr std::int64_t kHundredYearsNs = 36'525LL * 86'400 * 1'000'000'000;

Duration rounded_up(const Fraction& ns) {
  return Duration(static_cast<std::int64_t>(ceiling(ns)));
}

std::uint64_t to_count(const Integer& value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

TokenBucketModel::TokenBucketModel(const TokenBucket& numbers)
    : rate_(Integer(numbers.rate.count), Integer(numbers.rate.period.count())),
      burst_(Integer(numbers.burst)),
      tokens_(burst_) {}

void TokenBucketModel::refill(std::int64_t now) {
  tokens_ = std::min<Fraction>(burst_, tokens_ + rate_ * (Integer(now) - Integer(at_)));
  at_ = now;
}

Duration TokenBucketModel::time_for(const Fraction& tokens) const {
  if (tokens == 0) return Duration(0);
  if (rate_ == 0) return Duration(kHundredYearsNs);
  return rounded_up(tokens / rate_);
}

Verdict TokenBucketModel::ask(std::uint64_t cost, Instant now, bool charge) {
  refill(now.steady_ns);
  Verdict verdict;
  const Fraction needed = Integer(cost);
  if (needed > burst_ || (cost > 0 && needed > tokens_ && rate_ == 0)) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && needed > tokens_) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = time_for(needed - tokens_);
  } else if (charge) {
    tokens_ -= needed;
  }
  const Integer whole = std::max<Integer>(0, floor(tokens_));
  verdict.quota = to_count(floor(burst_));
  verdict.remaining = to_count(whole);
  verdict.reset_after = time_for(burst_ - tokens_);
  if (whole < burst_) verdict.next_after = time_for(Fraction(whole + 1) - tokens_);
  return verdict;
}

void TokenBucketModel::refund(std::uint64_t cost, Instant now, std::optional<Instant>) {
  refill(now.steady_ns);
  tokens_ = std::min<Fraction>(burst_, tokens_ + Integer(cost));
}

// Owes 100 years of refilling at most; without any, nothing.
void TokenBucketModel::overdraw(std::uint64_t cost, Instant now, std::optional<Instant>) {
  refill(now.steady_ns);
  const Fraction least = rate_ == 0 ? Fraction(0) : burst_ - rate_ * Integer(kHundredYearsNs);
  tokens_ = std::max<Fraction>(tokens_ - Integer(cost), std::min<Fraction>(least, tokens_));
}

LeakyBucketModel::LeakyBucketModel(const LeakyBucket& numbers)
    : frozen_(numbers.rate.count == 0), queue_(numbers.queue) {
  if (!frozen_) {
    interval_ = Fraction(Integer(numbers.rate.period.count()), Integer(numbers.rate.count));
  }
}

Fraction LeakyBucketModel::wait(std::int64_t now) const {
  if (!next_free_) return 0;
  return std::max<Fraction>(0, *next_free_ - Integer(now));
}

Verdict LeakyBucketModel::ask(std::uint64_t cost, Instant now, bool charge) {
  if (frozen_) return ask_frozen(cost, charge);
  Verdict verdict;
  Fraction waiting = wait(now.steady_ns);
  const Fraction longest = interval_ * queue_;
  const Fraction last_slot = waiting + interval_ * (Integer(cost) - 1);
  if (cost > 0 && Integer(cost) > queue_ + 1) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && last_slot > longest) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = rounded_up(last_slot - longest);
  } else if (cost > 0 && charge) {
    verdict.delay = rounded_up(waiting);
    next_free_ = waiting + Integer(now.steady_ns) + interval_ * Integer(cost);
    waiting = wait(now.steady_ns);
  }
  const Integer left = std::max<Integer>(0, floor(Fraction(queue_) - waiting / interval_) + 1);
  verdict.quota = to_count(queue_ + 1);
  verdict.remaining = to_count(left);
  verdict.reset_after = rounded_up(waiting);
  // One more is left once the wait is down to (queue - left) intervals.
  if (left <= queue_) verdict.next_after = rounded_up(waiting - interval_ * (queue_ - left));
  return verdict;
}

Verdict LeakyBucketModel::ask_frozen(std::uint64_t cost, bool charge) {
  Verdict verdict;
  if (cost > 0 && (Integer(cost) > queue_ + 1 || taken_)) verdict.outcome = Outcome::kNever;
  if (cost > 0 && verdict.allowed() && charge) taken_ = true;
  verdict.quota = to_count(queue_ + 1);
  verdict.remaining = taken_ ? 0 : verdict.quota;
  if (taken_) verdict.reset_after = verdict.next_after = Duration(kHundredYearsNs);
  return verdict;
}

void LeakyBucketModel::overdraw(std::uint64_t cost, Instant now, std::optional<Instant>) {
  if (frozen_) {
    taken_ = taken_ || cost > 0;
    return;
  }
  const Fraction waiting = wait(now.steady_ns);
  const Fraction most = std::max<Fraction>(Integer(kHundredYearsNs), waiting);
  next_free_ =
      Integer(now.steady_ns) + std::min<Fraction>(waiting + interval_ * Integer(cost), most);
}

void LeakyBucketModel::refund(std::uint64_t cost, Instant now, std::optional<Instant>) {
  if (frozen_) {
    taken_ = taken_ && cost == 0;
    return;
  }
  const Fraction waiting = wait(now.steady_ns);
  next_free_ = Integer(now.steady_ns) + std::max<Fraction>(0, waiting - interval_ * Integer(cost));
}

}  // namespace weir::oracle
