#include "library/bucket.h"

#include <numeric>

#include "limit/token_bucket.h"

namespace weir::library {

Result<Shape> Shape::make(const TokenBucket& numbers) {
  if (auto rule = limit::TokenBucketRule::make(numbers); !rule) return rule.error();
  Shape shape;
  shape.burst = numbers.burst;
  shape.full_ns = limit::kNeverNs;
  if (numbers.rate.count == 0) return shape;
  const auto period = static_cast<std::uint64_t>(numbers.rate.period.count());
  const std::uint64_t common = std::gcd(period, numbers.rate.count);
  shape.step = period / common;
  shape.unit = numbers.rate.count / common;
  shape.full_ns = shape.ns_for(shape.capacity());
  return shape;
}

std::int64_t Shape::ns_for(Wide ticks) const {
  if (ticks == 0) return 0;
  return unit == 0 ? limit::kNeverNs : static_cast<std::int64_t>(ceil_div(ticks, unit));
}

Wide Shape::most_debt() const {
  // A bucket that never refills owes its whole burst once more at most: nobody waits for it.
  const Wide reach = wide_product(static_cast<std::uint64_t>(limit::kMaxSpanNs), unit);
  return std::max(capacity(), reach);
}

Verdict shown(const Shape& shape, const Level& level) {
  Verdict verdict;
  const Wide capacity = shape.capacity();
  verdict.quota = shape.burst;
  const Wide left = level.debt >= capacity ? 0 : capacity - level.debt;
  verdict.remaining = static_cast<std::uint64_t>(floor_div(left, shape.step));
  // A bucket that never refills says 100 years, which no real one can reach.
  const auto told = [&shape](Wide ticks) {
    return Duration(std::min(shape.ns_for(ticks), limit::kMaxSpanNs));
  };
  verdict.reset_after = told(level.debt);
  if (verdict.remaining < shape.burst) {
    verdict.next_after = told(level.debt - (capacity - shape.ticks(verdict.remaining + 1)));
  }
  return verdict;
}

Verdict refused(const Shape& shape, const Level& level, std::uint64_t cost) {
  Verdict verdict = shown(shape, level);
  verdict.outcome = Outcome::kNever;
  if (cost > shape.burst) return verdict;
  const std::int64_t wait = shape.ns_for(level.debt + shape.ticks(cost) - shape.capacity());
  if (wait == limit::kNeverNs) return verdict;
  verdict.outcome = Outcome::kDenied;
  verdict.retry_after = Duration(wait);
  return verdict;
}

}  // namespace weir::library
