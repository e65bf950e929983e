#include "weir/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

TEST(TscClock, AgreesWithTheMachinesClockAndNeverGoesBack) {
  const SystemClock truth;
  const TscClock clock;
  std::int64_t last = clock.steady_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t now = clock.steady_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  // Mapped to the epoch a few moments apart, and a machine may pause between two readings.
  EXPECT_LT(std::abs(truth.steady_ns() - clock.steady_ns()), 500'000'000);
}

TEST(ManualClock, WakesThoseWhoseTimeHasComeAndNoOther) {
  ManualClock clock(at_ns(0));
  Parking early;
  Parking late;
  std::thread first([&] { clock.park(early, 10); });
  std::thread second([&] { clock.park(late, 20); });
  clock.await_parked(2);
  clock.set(at_ns(10));
  first.join();
  EXPECT_EQ(clock.wakes(), 1u);
  clock.set(at_ns(20));
  second.join();
  EXPECT_EQ(clock.wakes(), 2u);
}

}  // namespace
}  // namespace weir
