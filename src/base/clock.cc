#include "base/clock.h"

#include <algorithm>
#include <ctime>
#include <limits>

#include "base/seconds.h"

namespace weir {
namespace {

std::int64_t read_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * kNsPerSecond + t.tv_nsec;
}

}  // namespace

void Parking::wake() {
  // Notified under the lock: the one who waits may destroy this as soon as it is out.
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void Parking::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return woken_; });
  woken_ = false;
}

void Parking::wait_until(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return woken_; });
  woken_ = false;
}

void Clock::park(Parking& parking, std::int64_t until_ns) const {
  // A day at a time: no sum of instants can overflow, and the caller looks at its clock again.
  constexpr std::int64_t kDayNs = 86'400 * kNsPerSecond;
  const std::int64_t now = steady_ns();
  if (until_ns <= now) return;
  const std::int64_t wait_ns = until_ns - kDayNs > now ? kDayNs : until_ns - now;
  const std::chrono::steady_clock::time_point machine_now{Duration(read_ns(CLOCK_MONOTONIC))};
  parking.wait_until(machine_now + Duration(wait_ns));
}

SystemClock::SystemClock() : offset_ns_(read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC)) {}

Instant SystemClock::now() const {
  return Instant{read_ns(CLOCK_MONOTONIC) + offset_ns_, read_ns(CLOCK_REALTIME)};
}

std::int64_t SystemClock::steady_ns() const {
  return read_ns(CLOCK_MONOTONIC) + offset_ns_;
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

void ManualClock::set(Instant t) {
  const std::lock_guard lock(mutex_);
  steady_ns_.store(t.steady_ns);
  wall_ns_.store(t.wall_ns);
  for (Parked& parked : parked_) {
    if (parked.until_ns > t.steady_ns) continue;
    parked.until_ns = std::numeric_limits<std::int64_t>::max();  // woken once
    wakes_.fetch_add(1);
    parked.parking->wake();
  }
}

void ManualClock::park(Parking& parking, std::int64_t until_ns) const {
  {
    const std::lock_guard lock(mutex_);
    if (until_ns <= steady_ns_.load()) return;
    parked_.push_back({&parking, until_ns});
    arrived_.notify_all();
  }
  parking.wait();
  const std::lock_guard lock(mutex_);
  std::erase_if(parked_, [&](const Parked& parked) { return parked.parking == &parking; });
}

void ManualClock::await_parked(std::size_t count) const {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return parked_.size() >= count; });
}

}  // namespace weir
