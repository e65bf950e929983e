#include "weir/limiter.h"

#include <limits>
#include <utility>

#include "library/core.h"

namespace weir {

void Ticket::cancel(std::optional<Instant> now) {
  if (core_ != nullptr) core_->give_back(*this, 0, core_->or_now(now));
}

void Ticket::settle(std::uint64_t actual, std::optional<Instant> now) {
  if (core_ != nullptr) core_->give_back(*this, actual, core_->or_now(now));
}

Waiter::Waiter(library::Core* core, std::unique_ptr<library::Waiting> waiting)
    : core_(core), waiting_(std::move(waiting)) {}
Waiter::Waiter(Waiter&& other) noexcept = default;

Waiter& Waiter::operator=(Waiter&& other) noexcept {
  if (waiting_) core_->leave(*waiting_);
  core_ = other.core_;
  waiting_ = std::move(other.waiting_);
  return *this;
}

Waiter::~Waiter() {
  if (waiting_) core_->leave(*waiting_);
}

Waiter::State Waiter::poll(Instant now) {
  return core_->poll(*waiting_, now);
}

std::int64_t Waiter::wake_at_ns() const {
  return waiting_->wake_at;
}

const Verdict& Waiter::verdict() const {
  return waiting_->verdict;
}

Result<Limiter> Limiter::make(const Numbers& numbers, const LimiterOptions& options) {
  return make(std::vector<Numbers>{numbers}, options);
}

Result<Limiter> Limiter::make(const std::vector<Numbers>& numbers, const LimiterOptions& options) {
  auto core = library::Core::make(numbers, options);
  if (!core) return core.error();
  return Limiter(*std::move(core));
}

Limiter::Limiter(std::unique_ptr<library::Core> core) : core_(std::move(core)) {}
Limiter::Limiter(Limiter&& other) noexcept = default;
Limiter& Limiter::operator=(Limiter&& other) noexcept = default;
Limiter::~Limiter() = default;

bool Limiter::allow(std::uint64_t cost) {
  return core_->allow(cost);
}

bool Limiter::allow(std::uint64_t cost, Instant now) {
  return core_->allow(cost, now);
}

Verdict Limiter::check(std::uint64_t cost) {
  return core_->check(cost, core_->quick_now());
}

Verdict Limiter::check(std::uint64_t cost, Instant now) {
  return core_->check(cost, now);
}

Portion Limiter::allow_at_most(std::uint64_t most, std::optional<Instant> now) {
  return core_->allow_at_most(most, core_->or_now(now));
}

Verdict Limiter::peek(std::optional<Instant> now) {
  return core_->check(0, core_->or_now(now));
}

Ticket Limiter::reserve(std::uint64_t cost, Duration most_delay, std::optional<Instant> now) {
  return core_->reserve(cost, most_delay, core_->or_now(now));
}

Verdict Limiter::acquire(std::uint64_t cost) {
  return core_->acquire(cost, std::numeric_limits<std::int64_t>::max());
}

Verdict Limiter::acquire_until(Instant deadline, std::uint64_t cost) {
  return core_->acquire(cost, deadline.steady_ns);
}

Waiter Limiter::queue(std::uint64_t cost, std::optional<Instant> deadline,
                      std::function<void()> changed, std::optional<Instant> now) {
  auto waiting = std::make_unique<library::Waiting>();
  waiting->cost = cost;
  if (deadline) waiting->deadline = deadline->steady_ns;
  waiting->changed = std::move(changed);
  core_->join(*waiting, core_->or_now(now));
  return core_->waiter(std::move(waiting));
}

void Limiter::refund(std::uint64_t cost, std::optional<Instant> now) {
  core_->refund(cost, core_->or_now(now));
}

void Limiter::settle(Ticket& ticket, std::uint64_t actual, std::optional<Instant> now) {
  ticket.settle(actual, core_->or_now(now));
}

void Limiter::penalty(std::uint64_t cost, std::optional<Instant> now) {
  core_->penalty(cost, core_->or_now(now));
}

void Limiter::block(Duration duration, std::optional<Instant> now) {
  core_->block(duration, core_->or_now(now));
}

void Limiter::reset(std::optional<Instant> now) {
  core_->reset(core_->or_now(now));
}

void Limiter::set_tokens(std::uint64_t tokens, std::optional<Instant> now) {
  core_->set_tokens(tokens, core_->or_now(now));
}

Result<bool> Limiter::update(const Numbers& numbers, Inherit inherit, std::optional<Instant> now) {
  return core_->update({numbers}, inherit, core_->or_now(now));
}

Result<bool> Limiter::update(const std::vector<Numbers>& numbers, Inherit inherit,
                             std::optional<Instant> now) {
  return core_->update(numbers, inherit, core_->or_now(now));
}

}  // namespace weir
