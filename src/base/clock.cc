#include "base/clock.h"

#include <ctime>

namespace weir {
namespace {

std::int64_t read_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

SystemClock::SystemClock() : offset_ns_(read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC)) {}

Instant SystemClock::now() const {
  return Instant{read_ns(CLOCK_MONOTONIC) + offset_ns_, read_ns(CLOCK_REALTIME)};
}

}  // namespace weir
