#include "library/bucket_backend.h"

namespace weir::library {
namespace {

// amount x wanted / whole, rounded down. REQUIRES: amount <= whole x 2^63, wanted < 2^64.
Wide share(Wide amount, std::uint64_t wanted, std::uint64_t whole) {
  const Wide quotient = floor_div(amount, whole);
  const auto rest = static_cast<std::uint64_t>(amount - quotient * whole);
  return quotient * wanted + floor_div(wide_product(rest, wanted), whole);
}

}  // namespace

void BucketBackend::advance(Instant now) {
  level_ = advanced(level_, shape_, limit::read(limit::Timeline::kSteady, now));
}

// What the instant was counted as.
Backend::Taken BucketBackend::answer(const Verdict& verdict, Instant now) const {
  return Taken{verdict, Instant{level_.time, now.wall_ns}};
}

bool BucketBackend::admits(std::uint64_t cost) const {
  if (cost == 0) return true;
  return cost <= shape_.burst && level_.debt + shape_.ticks(cost) <= shape_.capacity();
}

Backend::Taken BucketBackend::take(std::uint64_t cost, Instant now) {
  advance(now);
  if (!admits(cost)) return answer(refused(shape_, level_, cost), now);
  level_.debt += shape_.ticks(cost);
  return answer(shown(shape_, level_), now);
}

Verdict BucketBackend::look(std::uint64_t cost, Instant now) {
  advance(now);
  return admits(cost) ? shown(shape_, level_) : refused(shape_, level_, cost);
}

Backend::Taken BucketBackend::reserve(std::uint64_t cost, Duration most_delay, Instant now) {
  Taken taken = take(cost, now);
  if (taken.verdict.outcome != Outcome::kDenied) return taken;
  const Wide owed = level_.debt + shape_.ticks(cost);
  if (taken.verdict.retry_after > most_delay || owed > shape_.most_debt()) return taken;
  const Duration delay = taken.verdict.retry_after;
  level_.debt = owed;
  taken.verdict = shown(shape_, level_);
  taken.verdict.delay = delay;
  return taken;
}

void BucketBackend::promise(std::uint64_t order, std::uint64_t cost, Duration delay) {
  const std::int64_t turn = level_.time + delay.count();
  const Wide owed_then = advanced(level_, shape_, turn).debt;
  const Wide own = std::min(shape_.ticks(cost), owed_then);
  promises_.add(order, turn, owed_then - own, level_.time);
}

Wide BucketBackend::give_back(std::uint64_t order, std::uint64_t cost, Wide most, Instant now) {
  advance(now);
  return lower(std::min(promises_.give_back(order, shape_.ticks(cost), level_.time), most));
}

Wide BucketBackend::withdraw(std::uint64_t order, Wide most) {
  return lower(std::min(promises_.withdraw(order, level_.time), most));
}

Wide BucketBackend::lower(Wide ticks) {
  const Wide given = std::min(ticks, level_.debt);
  level_.debt -= given;
  return given;
}

void BucketBackend::take_anyway(std::uint64_t cost, Instant now, std::optional<Instant>) {
  advance(now);
  const Wide most = std::max(shape_.most_debt(), level_.debt);
  level_.debt = std::min(level_.debt + shape_.ticks(cost), most);
}

void BucketBackend::set_left(std::uint64_t tokens, Instant now) {
  advance(now);
  level_.debt = shape_.ticks(shape_.burst - std::min(tokens, shape_.burst));
  promises_ = Promises();
}

void BucketBackend::reset(Instant now) {
  advance(now);
  level_.debt = 0;
  promises_ = Promises();
}

void BucketBackend::update(const Shape& shape, Inherit inherit, Instant now) {
  advance(now);
  level_.debt = inherited(shape, inherit);
  if (inherit == Inherit::kReset) promises_ = Promises();
  promises_.close();
  shape_ = shape;
}

// What is missing under the new numbers. Parts of a token are rounded against the caller, by less
// than three ticks: never over the limit.
Wide BucketBackend::inherited(const Shape& shape, Inherit inherit) const {
  if (inherit == Inherit::kReset) return 0;
  const Wide capacity = shape.capacity();
  const bool grows = inherit == Inherit::kAdditive && shape.burst > shape_.burst;
  const Wide added = grows ? shape.ticks(shape.burst - shape_.burst) : 0;
  if (level_.debt > shape_.capacity()) {
    const Wide owed = share(level_.debt - shape_.capacity(), shape.step, shape_.step) + 1;
    return std::max(capacity, std::min(capacity + owed, shape.most_debt())) - added;
  }
  // A full bucket is as a fresh one: it stays full.
  if (level_.debt == 0) return 0;
  Wide left = share(shape_.capacity() - level_.debt, shape.step, shape_.step);
  if (inherit == Inherit::kProportional) left = share(left, shape.burst, shape_.burst);
  left += added;
  return left >= capacity ? 0 : capacity - left;
}

}  // namespace weir::library
