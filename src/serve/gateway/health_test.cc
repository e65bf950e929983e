#include "serve/gateway/health.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::gateway {
namespace {

using namespace std::chrono_literals;
using Change = Health::Change;

constexpr std::int64_t ns(Duration time) {
  return time.count();
}

policy::Ejection after(std::uint32_t failures) {
  policy::Ejection eject;
  eject.failures = failures;
  eject.base_time = 10s;
  eject.max_time = 35s;
  return eject;
}

TEST(Health, IsOutAfterSoManyFailuresInARow) {
  Health health(after(3), std::nullopt);
  EXPECT_EQ(health.failed(0), Change::kNone);
  EXPECT_EQ(health.failed(0), Change::kNone);
  EXPECT_TRUE(health.in());
  EXPECT_EQ(health.failed(0), Change::kOut);
  EXPECT_FALSE(health.in());
  EXPECT_EQ(health.term(), 10s);
}

TEST(Health, OneAnswerBetweenFailuresBeginsTheCountAnew) {
  Health health(after(2), std::nullopt);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(health.failed(0), Change::kNone);
    EXPECT_EQ(health.answered(), Change::kNone);
  }
  EXPECT_TRUE(health.in());
}

TEST(Health, NoNumberOfFailuresPutsItOutWhereNoneIsWanted) {
  Health health(after(0), std::nullopt);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(health.failed(0), Change::kNone);
  EXPECT_TRUE(health.in());
}

TEST(Health, IsLentOneRequestWhenItsTermIsOver) {
  Health health(after(1), std::nullopt);
  health.failed(0);
  EXPECT_FALSE(health.lend(ns(10s) - 1));
  EXPECT_TRUE(health.lend(ns(10s)));
  EXPECT_FALSE(health.lend(ns(10s))) << "one";
  EXPECT_FALSE(health.lend(ns(20s) - 1));
  EXPECT_TRUE(health.lend(ns(20s))) << "nobody told what became of the first";
}

TEST(Health, AnAnswerBringsItBackAndTheNextTermIsTheFirstAgain) {
  Health health(after(1), std::nullopt);
  health.failed(0);
  ASSERT_TRUE(health.lend(ns(10s)));
  health.failed(ns(10s));
  EXPECT_EQ(health.term(), 20s);
  ASSERT_TRUE(health.lend(ns(30s)));
  EXPECT_EQ(health.answered(), Change::kBack);
  EXPECT_TRUE(health.in());
  EXPECT_EQ(health.failed(ns(40s)), Change::kOut);
  EXPECT_EQ(health.term(), 10s);
}

TEST(Health, EachFailureOfALentRequestDoublesTheTermUpToTheLongest) {
  Health health(after(1), std::nullopt);
  health.failed(0);
  std::int64_t now = ns(10s);
  for (const Duration term : {Duration(20s), Duration(35s), Duration(35s)}) {
    ASSERT_TRUE(health.lend(now));
    EXPECT_EQ(health.failed(now), Change::kNone) << "it was out before";
    EXPECT_EQ(health.term(), term);
    EXPECT_FALSE(health.lend(now + term.count() - 1));
    now += term.count();
  }
}

TEST(Health, RequestsThatWereUnderWayWhenItWasPutOutDoNotProlongItsTerm) {
  Health health(after(1), std::nullopt);
  health.failed(0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(health.failed(ns(5s)), Change::kNone);
  EXPECT_EQ(health.term(), 10s);
  EXPECT_TRUE(health.lend(ns(10s)));
}

policy::HealthCheck two_and_three() {
  policy::HealthCheck check;
  check.healthy_after = 2;
  check.unhealthy_after = 3;
  return check;
}

TEST(Health, ChecksThatFailInARowPutItOutAndPassedOnesBringItBack) {
  Health health(after(5), two_and_three());
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(true), Change::kNone) << "the row begins anew";
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(false), Change::kOut);
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(true), Change::kNone);
  EXPECT_EQ(health.checked(false), Change::kNone);
  EXPECT_EQ(health.checked(true), Change::kNone);
  EXPECT_EQ(health.checked(true), Change::kBack);
  EXPECT_TRUE(health.in());
}

TEST(Health, WhatChecksPutOutNoAnswerBringsBackAndNothingIsLentTo) {
  Health health(after(1), two_and_three());
  for (int i = 0; i < 3; ++i) health.checked(false);
  EXPECT_EQ(health.answered(), Change::kNone);
  EXPECT_FALSE(health.in());
  EXPECT_EQ(health.failed(0), Change::kNone) << "it is out already";
  EXPECT_FALSE(health.lend(ns(1h)));
  health.checked(true);
  EXPECT_EQ(health.checked(true), Change::kNone) << "failed requests still keep it out";
  EXPECT_TRUE(health.lend(ns(1h)));
  EXPECT_EQ(health.answered(), Change::kBack);
}

}  // namespace
}  // namespace weir::gateway
