#include "serve/admin/figures.h"

#include "engine/test_engine.h"

namespace weir::admin {
namespace {

using engine::TestRequest;

class FiguresTest : public ::testing::Test {
 protected:
  FiguresTest() {
    EXPECT_TRUE(engine_.install(engine::policy_of(
        {engine::limit("login", engine::bucket(10, std::chrono::hours(1)), {"ip"}),
         engine::limit("quiet", engine::bucket(5), {"user"})})));
    figures_.tick(now_);
  }

  void ask(int times, const std::string& ip = "203.0.113.5") {
    for (int i = 0; i < times; ++i) {
      engine_.decide(TestRequest({{"ip", ip}}), now_, std::nullopt, [&](engine::Decision decision) {
        (decision.allowed ? allowed_ : denied_).add();
      });
    }
  }
  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ = now_ + std::chrono::seconds(1);
      figures_.tick(now_);
    }
  }

  metrics::Registry registry_;
  store::MemoryStore store_;
  engine::Engine engine_{store_, &registry_};
  metrics::Counter allowed_ =
      registry_.counter("weir_requests_total", "R.", {{"listener", "api"}, {"outcome", "allowed"}});
  metrics::Counter denied_ =
      registry_.counter("weir_requests_total", "R.", {{"listener", "api"}, {"outcome", "denied"}});
  Figures figures_{registry_, engine_};
  Instant now_ = at_ns(engine::kStart);
};

TEST_F(FiguresTest, WorksRatesOutOverTheLastFiveSeconds) {
  for (int second = 0; second < 5; ++second) {
    ask(4);
    pass(1);
  }
  EXPECT_DOUBLE_EQ(figures_.overall().allowed_rate, 2.0);  // 10 of 20 passed
  EXPECT_DOUBLE_EQ(figures_.overall().denied_rate, 2.0);
  const auto limits = figures_.limits(10);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].name, "login");
  EXPECT_EQ(limits[0].algorithm, "token_bucket");
  EXPECT_DOUBLE_EQ(limits[0].denied_rate, 2.0);
  EXPECT_GE(limits[0].fullness, 0);
  EXPECT_EQ(limits[1].fullness, -1);
  pass(6);
  EXPECT_DOUBLE_EQ(figures_.overall().allowed_rate, 0);
  EXPECT_EQ(figures_.overall().allowed, 10u);
}

TEST_F(FiguresTest, KeepsMinutesByLimit) {
  ask(12);
  pass(1);
  EXPECT_EQ(figures_.limits(1)[0].minutes.back().allowed, 10u);
  EXPECT_EQ(figures_.limits(1)[0].minutes.back().denied, 2u);
  pass(60);
  ask(1);
  pass(1);
  const auto minutes = figures_.limits(1)[0].minutes;
  EXPECT_EQ(minutes.back().denied, 1u);
  EXPECT_EQ(minutes[kMinutes - 2].denied, 2u);
}

// A machine that slept, or a clock that was set: what lies between is empty, not old.
TEST_F(FiguresTest, LeavesMinutesEmptyInWhichNobodyLooked) {
  ask(12);
  pass(1);
  now_ = now_ + std::chrono::hours(3);
  figures_.tick(now_);
  const auto minutes = figures_.limits(1)[0].minutes;
  for (const MinuteCount& minute : minutes) {
    EXPECT_EQ(minute.allowed + minute.denied, 0u);
  }
}

TEST_F(FiguresTest, KeepsTheLastHourAndNoMore) {
  ask(10);
  pass(10);
  ASSERT_FALSE(figures_.hour().empty());
  EXPECT_NEAR(figures_.hour().front().allowed, 10.0 / Figures::kPointSeconds, 2.01);
  pass(3700);
  EXPECT_EQ(figures_.hour().size(), Figures::kHour);
}

TEST_F(FiguresTest, ListsTheBusiestLimitsFirstAndThoseRefusedOfLate) {
  ask(30, "203.0.113.1");
  pass(120);
  ask(20, "203.0.113.2");
  pass(6);
  ASSERT_EQ(figures_.keys().size(), 2u);
  EXPECT_EQ(figures_.keys()[0].key.shown, "ip=203.0.113.2");
  EXPECT_EQ(figures_.keys()[0].recent, 10u);
  EXPECT_EQ(figures_.keys()[1].recent, 0u);
  EXPECT_EQ(figures_.keys()[1].key.count, 20u);
}

TEST_F(FiguresTest, FollowsALimitNoLongerThatHasLeftThePolicy) {
  EXPECT_TRUE(engine_.install(engine::policy_of({engine::limit("quiet", engine::bucket(5))})));
  pass(1);
  EXPECT_EQ(figures_.limits(10).size(), 1u);
}

TEST_F(FiguresTest, ReadsWaitsOfTheLastMinute) {
  ask(20);
  pass(6);
  EXPECT_GT(figures_.overall().wait_p99, 60);  // a token an hour
  pass(90);
  EXPECT_DOUBLE_EQ(figures_.overall().wait_p99, 0);
}

}  // namespace
}  // namespace weir::admin
