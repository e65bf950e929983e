#include "net/timer_wheel.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/seconds.h"

namespace weir::net {

Deadline::Deadline(TimerWheel& wheel, std::function<void()> fire)
    : wheel_(wheel), fire_(std::move(fire)) {}

void Deadline::expires_after(Duration from_now) {
  const std::int64_t at = wheel_.now_ns() + std::max<std::int64_t>(from_now.count(), 0);
  when_ = std::max(at / TimerWheel::kTickNs + 1, wheel_.done_ + 1);
  if (is_linked() && when_ >= slot_) return;
  unlink();
  wheel_.link(*this);
}

TimerWheel::TimerWheel() : done_(now_ns() / kTickNs) {}

TimerWheel::TimerWheel(std::int64_t now_ns) : fixed_now_ns_(now_ns), done_(now_ns / kTickNs) {}

std::int64_t TimerWheel::now_ns() const {
  if (fixed_now_ns_) return *fixed_now_ns_;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

void TimerWheel::attach(Executor executor) {
  timer_.emplace(executor);
  armed_ = Deadline::kNever;
  arm();
}

void TimerWheel::detach() {
  timer_.reset();
}

void TimerWheel::link(Deadline& deadline) {
  // Nothing is linked: catch up with the clock, so that the slots ahead are those ahead of now.
  if (armed_ == Deadline::kNever) done_ = std::max(done_, now_ns() / kTickNs);
  deadline.slot_ = std::min(deadline.when_, done_ + kSlots - 1);
  const auto index = static_cast<std::size_t>(deadline.slot_ % kSlots);
  slots_[index].push_back(deadline);
  occupied_[index / 64] |= std::uint64_t{1} << (index % 64);
  if (deadline.slot_ < armed_) arm();
}

// The first tick after done_ whose slot is marked. A mark may be stale (its deadlines unlinked):
// then the slot runs once for nothing.
std::optional<std::int64_t> TimerWheel::next_tick() const {
  for (std::int64_t tick = done_ + 1; tick < done_ + kSlots;) {
    const auto index = static_cast<std::size_t>(tick % kSlots);
    const std::uint64_t word = occupied_[index / 64] >> (index % 64);
    if (word != 0) {
      const std::int64_t found = tick + std::countr_zero(word);
      return found < done_ + kSlots ? std::optional(found) : std::nullopt;
    }
    tick += static_cast<std::int64_t>(64 - index % 64);
  }
  return std::nullopt;
}

void TimerWheel::arm() {
  const std::optional<std::int64_t> tick = next_tick();
  armed_ = tick.value_or(Deadline::kNever);
  if (!timer_ || !tick) return;
  const std::int64_t wait = std::max<std::int64_t>((*tick) * kTickNs - now_ns(), 0);
  timer_->expires_after(Duration(wait) + std::chrono::milliseconds(4));
  timer_->async_wait([this](const SystemError& error) {
    if (!error) advance(now_ns());
  });
}

void TimerWheel::run_slot(std::int64_t tick) {
  const auto index = static_cast<std::size_t>(tick % kSlots);
  occupied_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  Slot due;
  due.swap(slots_[index]);
  while (!due.empty()) {
    Deadline& deadline = due.front();
    due.pop_front();
    if (!deadline.is_set()) continue;
    if (deadline.when_ > tick) {
      link(deadline);
      continue;
    }
    deadline.when_ = Deadline::kNever;
    deadline.fire_();
  }
}

void TimerWheel::advance(std::int64_t now_ns) {
  const std::int64_t now_tick = now_ns / kTickNs;
  armed_ = INT64_MIN;  // no arming while slots run
  while (const std::optional<std::int64_t> tick = next_tick()) {
    if (*tick > now_tick) break;
    done_ = *tick;
    run_slot(*tick);
  }
  done_ = std::max(done_, now_tick);
  arm();
}

}  // namespace weir::net
