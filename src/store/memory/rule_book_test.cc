#include "store/memory/rule_book.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir::store {
namespace {

class RuleBookTest : public ::testing::Test {
 protected:
  // Callers that each bring numbers of their own, until `count` have come in all.
  void bring(std::uint64_t count) {
    for (; brought_ < count; ++brought_) {
      book_.intern(*limit::Rule::make(FixedWindow{brought_ + 1, std::chrono::seconds(1)}));
    }
  }

  RuleBook book_;
  std::uint64_t brought_ = 0;
};

TEST_F(RuleBookTest, WantsAReclaimOnceRulesEnoughHaveComeAndForgetsThoseThatNobodyUses) {
  bring(1023);
  EXPECT_FALSE(book_.wants_reclaim());
  bring(1024);
  EXPECT_TRUE(book_.wants_reclaim());
  book_.begin_reclaim();
  book_.end_reclaim();
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_FALSE(book_.wants_reclaim());
}

TEST_F(RuleBookTest, IsNotPutOffByRulesThatComeDuringAReclaim) {
  bring(1024);
  for (int round = 1; round <= 10; ++round) {
    book_.begin_reclaim();
    bring(1024 + 2000 * round);
    book_.end_reclaim();
    ASSERT_EQ(book_.size(), 2000u) << "those of round " << round;
    ASSERT_TRUE(book_.wants_reclaim()) << "in round " << round;
  }
}

TEST_F(RuleBookTest, GrowsToTwiceWhatIsInUseBeforeItLooksAgain) {
  for (int i = 0; i < 3000; ++i) {
    book_.intern(*limit::Rule::make(FixedWindow{++brought_, std::chrono::seconds(1)}))->hold();
  }
  book_.begin_reclaim();
  book_.end_reclaim();
  EXPECT_EQ(book_.size(), 3000u);
  bring(5999);
  EXPECT_FALSE(book_.wants_reclaim());
  bring(6000);
  EXPECT_TRUE(book_.wants_reclaim());
}

}  // namespace
}  // namespace weir::store
