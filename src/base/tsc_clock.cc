// TscClock: CLOCK_MONOTONIC's reading, continued by the processor's time-stamp counter.
//
// A line maps the counter to time. Its readers take it under a version number (a seqlock), which
// costs them two loads; one of them renews it when it has grown old. A renewed line never lies
// behind the old one: a reader sees no step back.

#include "weir/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/wide.h"

namespace weir {
namespace {

#if defined(__x86_64__)
std::uint64_t read_tsc() {
  return __rdtsc();
}

bool invariant_tsc() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
}
#else
std::uint64_t read_tsc() {
  return 0;
}

bool invariant_tsc() {
  return false;
}
#endif

std::int64_t scaled(std::uint64_t ticks, std::uint64_t speed) {
  return static_cast<std::int64_t>((Wide{ticks} * speed) >> 32);
}

}  // namespace

bool TscClock::usable() {
  return invariant_tsc();
}

TscClock::TscClock() : usable_(invariant_tsc()) {
  if (!usable_) return;
  constexpr std::int64_t kMeasure = 2'000'000;
  const std::uint64_t tsc = read_tsc();
  const std::int64_t ns = truth_.steady_ns();
  while (truth_.steady_ns() - ns < kMeasure) {
  }
  first_ = Line{tsc, ns, 0};
  tsc_.store(tsc, std::memory_order_relaxed);
  ns_.store(ns, std::memory_order_relaxed);
  adjust(read_tsc(), ns);
  // A quarter of a second, in ticks.
  renew_after_ = static_cast<std::uint64_t>((Wide{250'000'000} << 32) /
                                            speed_.load(std::memory_order_relaxed));
}

// WHY no fence beside the counter: readings of one thread must not go back, and it takes them in
// its order; a fence would cost more than all the rest. WHY apart from what is rare: so that this
// needs no more registers than a function may use without saving them.
std::int64_t TscClock::steady_ns() const {
  if (!usable_) return truth_.steady_ns();
  const std::uint32_t before = version_.load(std::memory_order_acquire);
  const std::uint64_t base = tsc_.load(std::memory_order_acquire);
  const std::int64_t ns = ns_.load(std::memory_order_acquire);
  const std::uint64_t speed = speed_.load(std::memory_order_acquire);
  const std::uint64_t tsc = read_tsc();
  const bool whole = (before & 1) == 0 && version_.load(std::memory_order_acquire) == before;
  if (!whole) return steady_ns();
  if (tsc - base > renew_after_) return beyond({base, ns, speed}, tsc);
  return ns + scaled(tsc - base, speed);
}

// What a line that was read whole says of a counter that it does not reach to.
std::int64_t TscClock::beyond(const Line& line, std::uint64_t tsc) const {
  if (tsc <= line.tsc) return line.ns;  // another core's counter, a little behind
  return adjust(tsc, line.ns + scaled(tsc - line.tsc, line.speed));
}

std::int64_t TscClock::adjust(std::uint64_t tsc, std::int64_t now) const {
  const std::unique_lock one(adjusting_, std::try_to_lock);
  const std::uint64_t base = tsc_.load(std::memory_order_relaxed);
  if (!one || (renew_after_ != 0 && tsc - base <= renew_after_)) return now;
  const std::int64_t truth = truth_.steady_ns();
  const std::uint64_t here = read_tsc();
  if (here <= first_.tsc || truth <= first_.ns) return now;
  const auto ticks = static_cast<std::int64_t>(here - first_.tsc);
  const auto speed = static_cast<std::uint64_t>(
      (Wide{static_cast<std::uint64_t>(truth - first_.ns)} << 32) / static_cast<Wide>(ticks));
  const std::int64_t shown = ns_.load(std::memory_order_relaxed) +
                             scaled(here - base, speed_.load(std::memory_order_relaxed));
  version_.fetch_add(1, std::memory_order_acq_rel);
  tsc_.store(here, std::memory_order_relaxed);
  ns_.store(shown > truth ? shown : truth, std::memory_order_relaxed);
  speed_.store(speed, std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_release);
  return now;
}

}  // namespace weir
