#include "serve/gateway/balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

namespace weir::gateway {
namespace {

using namespace std::chrono_literals;
using policy::Balance;

// Servers whose first failure puts them out for 10 s.
class BalancerTest : public ::testing::Test {
 protected:
  Balancer make(Balance balance, std::size_t servers, std::size_t turn = 0) {
    policy::Ejection eject;
    eject.failures = 1;
    std::vector<Health*> all;
    for (std::size_t i = 0; i < servers; ++i) all.push_back(&healths_.emplace_back(eject, check_));
    return Balancer(balance, all, turn);
  }
  static std::vector<std::size_t> picks(Balancer& balancer, std::size_t count,
                                        std::int64_t now_ns = 0) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(balancer.pick(0, now_ns));
    return out;
  }

  std::optional<policy::HealthCheck> check_;
  std::deque<Health> healths_;
};

using Picks = std::vector<std::size_t>;

TEST_F(BalancerTest, RoundRobinGoesRoundFromItsTurn) {
  Balancer balancer = make(Balance::kRoundRobin, 3, 7);
  EXPECT_EQ(picks(balancer, 6), (Picks{1, 2, 0, 1, 2, 0}));
}

TEST_F(BalancerTest, WhoIsOutIsPassedOverAndTheOthersShareItsPart) {
  Balancer balancer = make(Balance::kRoundRobin, 3);
  healths_[1].failed(0);
  EXPECT_EQ(picks(balancer, 4), (Picks{0, 2, 0, 2}));
}

TEST_F(BalancerTest, WhoseTermIsOverIsLentOneRequest) {
  Balancer balancer = make(Balance::kRoundRobin, 3);
  healths_[1].failed(0);
  const std::int64_t later = Duration(10s).count();
  EXPECT_EQ(picks(balancer, 6, later), (Picks{0, 1, 2, 0, 2, 0}));
  healths_[1].answered();
  EXPECT_EQ(picks(balancer, 3, later), (Picks{1, 2, 0}));
}

TEST_F(BalancerTest, WhereAllAreOutAllAreTried) {
  for (const Balance balance : {Balance::kRoundRobin, Balance::kLeastConnections}) {
    healths_.clear();
    Balancer balancer = make(balance, 3);
    for (Health& health : healths_) health.failed(0);
    EXPECT_EQ(picks(balancer, 4), (Picks{0, 1, 2, 0}));
  }
}

TEST_F(BalancerTest, ARequestGoesToEachServerOnceThoseThatAreOutLast) {
  Balancer balancer = make(Balance::kRoundRobin, 3);
  healths_[0].failed(0);
  EXPECT_EQ(balancer.pick(0b000, 0), 1u);
  EXPECT_EQ(balancer.pick(0b010, 0), 2u);
  EXPECT_EQ(balancer.pick(0b110, 0), 0u);
  EXPECT_EQ(balancer.pick(0b111, 0), Balancer::kNone);
}

TEST_F(BalancerTest, LeastConnectionsTakesTheOneWithTheFewest) {
  Balancer balancer = make(Balance::kLeastConnections, 3);
  for (int i = 0; i < 3; ++i) healths_[0].enter();
  for (int i = 0; i < 2; ++i) healths_[1].enter();
  for (int i = 0; i < 4; ++i) healths_[2].enter();
  EXPECT_EQ(balancer.pick(0, 0), 1u);
  for (int i = 0; i < 3; ++i) healths_[2].leave();
  EXPECT_EQ(balancer.pick(0, 0), 2u);
  EXPECT_EQ(balancer.pick(0b100, 0), 1u) << "it has been there";
}

TEST_F(BalancerTest, LeastConnectionsGoesRoundAmongEquals) {
  Balancer balancer = make(Balance::kLeastConnections, 3);
  EXPECT_EQ(picks(balancer, 4), (Picks{0, 1, 2, 0}));
}

TEST_F(BalancerTest, LeastConnectionsLendsToWhoseTermIsOverThoughOthersHaveFewer) {
  Balancer balancer = make(Balance::kLeastConnections, 2);
  healths_[1].enter();
  healths_[1].failed(0);
  EXPECT_EQ(picks(balancer, 2, 0), (Picks{0, 0}));
  const Picks later = picks(balancer, 3, Duration(10s).count());
  EXPECT_EQ(std::count(later.begin(), later.end(), 1u), 1);
}

TEST_F(BalancerTest, SixtyFourServersAreAllReached) {
  Balancer balancer = make(Balance::kRoundRobin, 64);
  std::uint64_t tried = 0;
  for (int i = 0; i < 64; ++i) {
    const std::size_t picked = balancer.pick(tried, 0);
    ASSERT_LT(picked, 64u);
    EXPECT_EQ(tried >> picked & 1, 0u);
    tried |= std::uint64_t{1} << picked;
  }
  EXPECT_EQ(balancer.pick(tried, 0), Balancer::kNone);
}

}  // namespace
}  // namespace weir::gateway
