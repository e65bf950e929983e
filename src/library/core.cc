#include "library/core.h"

#include <algorithm>
#include <utility>

#include "limit/narrow_bucket.h"

namespace weir::library {

struct Core::Compiled {
  std::optional<Shape> bucket;  // a lone token bucket
  std::vector<limit::Rule> rules;
};

Core::Visit::Visit(Core& core, Instant now) : core_(core), now_(now), lock_(core.mutex_) {
  if (auto level = core_.cell_.close()) core_.bucket_->level() = *level;
  if (core_.bucket_) core_.advance(now);
}

Core::Visit::~Visit() {
  if (!core_.bucket_) return;
  core_.bucket_->advance(now_);
  if (core_.bucket_->level().time < core_.blocked_until_) return;
  core_.cell_.open(core_.bucket_->shape(), core_.bucket_->level());
}

Result<Core::Compiled> Core::compile(const std::vector<Numbers>& numbers) {
  if (numbers.empty() || numbers.size() > store::kMaxCharges) {
    return Error{ErrorCode::kInvalid, "a limiter has " + std::to_string(numbers.size()) +
                                          " sets of numbers, must be 1 to 64"};
  }
  Compiled compiled;
  if (const auto* bucket = std::get_if<TokenBucket>(&numbers[0]); bucket && numbers.size() == 1) {
    auto shape = Shape::make(*bucket);
    if (!shape) return shape.error();
    compiled.bucket = *shape;
    return compiled;
  }
  for (const Numbers& set : numbers) {
    auto rule = limit::Rule::make(set);
    if (!rule) return rule.error();
    compiled.rules.push_back(*std::move(rule));
  }
  return compiled;
}

Result<std::unique_ptr<Core>> Core::make(const std::vector<Numbers>& numbers,
                                         const LimiterOptions& options) {
  auto compiled = compile(numbers);
  if (!compiled) return compiled.error();
  const Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
  return std::unique_ptr<Core>(new Core(clock, *std::move(compiled)));
}

Core::Core(const Clock& clock, Compiled compiled)
    : clock_(&clock), lone_(compiled.bucket.has_value()) {
  if (compiled.bucket) {
    bucket_.emplace(*compiled.bucket);  // the first call opens the cell, and is its owner
    Bias::available();                  // so that it need not wait for the kernel
  } else {
    counters_.emplace(std::move(compiled.rules));
  }
}

Backend& Core::backend() {
  if (bucket_) return *bucket_;
  return *counters_;
}

bool Core::allow_locked(std::uint64_t cost, Instant now) {
  const Visit visit(*this, now);
  return take(cost, now).allowed();
}

// What a cell says of a call. Where the bucket owes no more than it holds and refills, a word is
// wide enough for all of it.
Verdict Core::told(const Cell::Seen& seen, bool taken, std::uint64_t cost) {
  if (seen.unit != 0 && seen.debt <= seen.burst * seen.step) {
    return limit::NarrowBucket(seen.burst, seen.step, seen.unit).verdict({seen.debt, taken}, cost);
  }
  const Shape shape{seen.burst, seen.step, seen.unit, 0};
  const Level level{seen.time, seen.debt};
  return taken ? shown(shape, level) : refused(shape, level, cost);
}

Verdict Core::check(std::uint64_t cost, Instant now) {
  if (cost > 0) {
    Cell::Seen seen;
    const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
    const Cell::Taken taken = cell_.take(cost, ns, seen);
    if (taken != Cell::Taken::kAskOwner) return told(seen, taken == Cell::Taken::kYes, cost);
  }
  const Visit visit(*this, now);
  return take(cost, now);
}

// REQUIRES: visited, as all below that are private.
Verdict Core::take(std::uint64_t cost, Instant now) {
  if (cost == 0) return backend().take(0, now).verdict;
  if (const auto no = blocked(cost, now)) return *no;
  if (counters_ && !queue_.empty()) {
    Verdict verdict = counters_->take(0, now).verdict;
    verdict.outcome = cost > verdict.quota ? Outcome::kNever : Outcome::kDenied;
    verdict.retry_after = std::max(verdict.next_after, Duration(1));
    return verdict;
  }
  return backend().take(cost, now).verdict;
}

// What a sample counts as.
std::int64_t Core::latest(Instant now) {
  return limit::read(limit::Timeline::kSteady, backend().take(0, now).at);
}

bool Core::is_blocked(Instant now) {
  return limit::read(limit::Timeline::kSteady, now) < blocked_until_ &&
         latest(now) < blocked_until_;
}

// The refusal of a blocked limiter, or nothing. It says what the call would be told at the end of
// the block.
std::optional<Verdict> Core::blocked(std::uint64_t cost, Instant now) {
  if (!is_blocked(now)) return std::nullopt;
  const Duration left(blocked_until_ - latest(now));
  const Verdict unblocked = backend().look(cost, now);
  Verdict verdict = backend().take(0, now).verdict;
  verdict.reset_after = std::max(verdict.reset_after, left);
  verdict.outcome = unblocked.outcome == Outcome::kNever ? Outcome::kNever : Outcome::kDenied;
  if (verdict.outcome == Outcome::kNever) return verdict;
  verdict.retry_after = std::max(left, unblocked.retry_after);
  verdict.retry_known = unblocked.retry_known || left >= unblocked.retry_after;
  return verdict;
}

Portion Core::allow_at_most(std::uint64_t most, Instant now) {
  const Visit visit(*this, now);
  const std::uint64_t least = std::min<std::uint64_t>(most, 1);
  const std::uint64_t wanted = std::max(std::min(most, backend().left(now)), least);
  const Verdict verdict = take(wanted, now);
  return Portion{verdict.allowed() ? wanted : 0, verdict};
}

Ticket Core::reserve(std::uint64_t cost, Duration most_delay, Instant now) {
  const Visit visit(*this, now);
  Ticket ticket;
  if (cost == 0 || is_blocked(now) || (counters_ && !queue_.empty())) {
    ticket.verdict_ = take(cost, now);
    return ticket;
  }
  const Backend::Taken taken = backend().reserve(cost, most_delay, now);
  ticket.verdict_ = taken.verdict;
  if (!taken.verdict.allowed()) return ticket;
  ticket.core_ = this;
  ticket.cost_ = cost;
  ticket.order_ = next_order_++;
  ticket.generation_ = generation_;
  ticket.charged_at_ = taken.at;
  const Duration delay = taken.verdict.delay;
  if (bucket_ && delay > Duration(0)) bucket_->promise(ticket.order_, cost, delay);
  return ticket;
}

void Core::give_back(Ticket& ticket, std::uint64_t kept, Instant now) {
  const Visit visit(*this, now);
  ticket.core_ = nullptr;
  if (ticket.generation_ != generation_) return;
  if (kept > ticket.cost_) backend().take_anyway(kept - ticket.cost_, now, ticket.charged_at_);
  if (kept < ticket.cost_) {
    return_and_move_up({ticket.order_, ticket.cost_ - kept, kept == 0, ticket.charged_at_}, now);
  }
}

void Core::refund(std::uint64_t cost, Instant now) {
  const Visit visit(*this, now);
  return_and_move_up({.cost = cost}, now);
}

void Core::penalty(std::uint64_t cost, Instant now) {
  const Visit visit(*this, now);
  backend().take_anyway(cost, now, std::nullopt);
}

void Core::block(Duration duration, Instant now) {
  const Visit visit(*this, now);
  const std::int64_t span = std::clamp<std::int64_t>(duration.count(), 0, limit::kMaxSpanNs);
  change(now, [&] { blocked_until_ = latest(now) + span; });
}

void Core::reset(Instant now) {
  const Visit visit(*this, now);
  change(now, [&] {
    blocked_until_ = limit::kEarliestNs;
    ++generation_;
    backend().reset(now);
  });
}

void Core::set_tokens(std::uint64_t tokens, Instant now) {
  const Visit visit(*this, now);
  change(now, [&] {
    ++generation_;
    backend().set_left(tokens, now);
  });
}

Result<bool> Core::update(const std::vector<Numbers>& numbers, Inherit inherit, Instant now) {
  auto compiled = compile(numbers);
  if (!compiled) return compiled.error();
  const Visit visit(*this, now);
  change(now, [&] {
    const bool afresh =
        inherit == Inherit::kReset || bucket_.has_value() != compiled->bucket.has_value();
    if (afresh) ++generation_;
    if (bucket_ && compiled->bucket) {
      bucket_->update(*compiled->bucket, inherit, now);
    } else if (compiled->bucket) {
      counters_.reset();
      bucket_.emplace(*compiled->bucket);
    } else if (counters_) {
      counters_->update(std::move(compiled->rules), inherit, now);
    } else {
      bucket_.reset();
      counters_.emplace(std::move(compiled->rules));
    }
  });
  lone_.store(bucket_.has_value(), std::memory_order_relaxed);
  return true;
}

}  // namespace weir::library
