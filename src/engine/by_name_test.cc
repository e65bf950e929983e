// Limits asked by their names, and decisions given back.

#include "engine/receipt.h"
#include "engine/test_engine.h"
#include "support/failed_store.h"

namespace weir::engine {
namespace {

class ByName : public OverMemory {};

TEST_F(ByName, ALimitIsTakenByItsNameAndSharesItsCountersWithRequests) {
  install({limit("login", bucket(2), {"user"})});
  EXPECT_TRUE(allowed({{"user", "bob"}}));
  Decision answer;
  const auto told = [&](Decision decision) { answer = std::move(decision); };
  ASSERT_TRUE(engine_.take("login", {"bob"}, now_, 1, told));
  EXPECT_TRUE(answer.allowed);
  EXPECT_EQ(named(answer), "login");
  ASSERT_TRUE(engine_.take("login", {"bob"}, now_, 1, told));
  EXPECT_FALSE(answer.allowed);
  ASSERT_TRUE(engine_.refund("login", {"bob"}, now_, 1));
  EXPECT_EQ(fates({{"user", "bob"}}, 2), "AD");
  ASSERT_TRUE(engine_.reset("login", {"bob"}, now_));
  EXPECT_EQ(fates({{"user", "bob"}}, 3), "AAD");
}

TEST_F(ByName, AnUnknownLimitOrAWrongNumberOfValuesIsAnError) {
  install({limit("login", bucket(2), {"user"})});
  const auto told = [](Decision) { ADD_FAILURE(); };
  EXPECT_EQ(engine_.take("other", {"bob"}, now_, 1, told).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(engine_.take("login", {}, now_, 1, told).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(engine_.reset("login", {"a", "b"}, now_).error().code, ErrorCode::kInvalid);
}

TEST(ByNameFailure, SaysThatItDoesNotKnowWhatBecameOfARefundOrAReset) {
  testing::FailedStore store;
  Engine engine(store);
  policy::Policy policy;
  policy.limits.push_back(limit("login", bucket(2), {"user"}));
  ASSERT_TRUE(engine.install(std::move(policy)));
  std::vector<store::Correction::Outcome> told;
  const auto tell = [&](const store::Correction& made) { told.push_back(made.outcome); };
  ASSERT_TRUE(engine.refund("login", {"bob"}, Instant{}, 1, tell));
  ASSERT_TRUE(engine.reset("login", {"bob"}, Instant{}, tell));
  ASSERT_TRUE(engine.refund("login", {"bob"}, Instant{}, 0, tell));  // asks for nothing
  using Outcome = store::Correction::Outcome;
  EXPECT_EQ(told, (std::vector{Outcome::kUnknown, Outcome::kUnknown, Outcome::kMade}));
}

TEST_F(ByName, ARefundOfADecisionGivesBackEveryLimitItCharged) {
  install({limit("a", bucket(1)), limit("b", bucket(1), {"user"})});
  const Decision decision = decide({{"user", "bob"}});
  EXPECT_FALSE(allowed({{"user", "bob"}}));
  engine_.refund(Receipt::of(decision), now_);
  EXPECT_EQ(fates({{"user", "bob"}}, 2), "AD");
  engine_.refund(Receipt::of(decide({{"user", "bob"}})), now_);  // a refused one took nothing
  EXPECT_FALSE(allowed({{"user", "bob"}}));
}

}  // namespace
}  // namespace weir::engine
