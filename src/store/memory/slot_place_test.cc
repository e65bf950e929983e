// Where the slots of a table lie, and where they are found when it has grown.

#include <gtest/gtest.h>

#include <set>

#include "store/memory/slot_table.h"

namespace weir::store {
namespace {

TEST(SlotTable, ItsGroupsLieWithThoseOfTheOthersThatHaveGrownAsFar) {
  constexpr std::size_t kShards = 4;
  constexpr std::size_t kMaxGroups = 8;
  const LineSpace space(kShards, kMaxGroups);
  const Line* const begin = space.group_at(0, 0);
  for (std::size_t groups = 1; groups <= kMaxGroups; groups *= 2) {
    std::set<const Line*> seen;
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      SlotTable table;
      table.use(space, shard);
      table.start_with(groups);
      for (std::uint64_t group = 0; group < groups; ++group) {
        const Line* const lines = space.group_of(shard, group << BucketSlot::kTagShift);
        EXPECT_TRUE(seen.insert(lines).second) << "another's";
        EXPECT_GE(lines, begin);
        EXPECT_LE(lines + SlotTable::kLinesPerGroup,
                  begin + kShards * groups * SlotTable::kLinesPerGroup)
            << groups << " groups of each lie before those of who has more";
      }
    }
  }
}

// The latest answer of find() is kept; here the key moves though no other takes its place.
TEST(SlotTable, FindsAKeyThatMovedForOneThatFoundNoRoom) {
  const LineSpace space(1, 2);
  SlotTable table;
  table.use(space, 0);
  RuleBook book;
  BookedRule& rule =
      *book.intern(*limit::Rule::make(TokenBucket{Rate{1, std::chrono::hours(1)}, 1}));
  book.give_place(rule);
  const auto insert = [&](std::uint64_t tag) {
    std::size_t dropped = 0;
    const Hash128 id{tag << BucketSlot::kTagShift, 0};
    return table.insert(id, rule, /*arrival=*/1'000'000'000, {&book}, dropped);
  };
  // Odd tags: all belong to the second group, once there is one.
  const Hash128 first{std::uint64_t{1} << BucketSlot::kTagShift, 0};
  for (std::uint64_t i = 0; i < SlotTable::kSlotsPerGroup; ++i)
    ASSERT_NE(insert(2 * i + 1), nullptr);
  ASSERT_EQ(table.groups(), 1u);
  const BucketSlot* const before = table.find(first);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(insert(1001), nullptr);
  ASSERT_EQ(table.groups(), 2u);
  const BucketSlot* const after = table.find(first);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(after, before);
  EXPECT_EQ(after->name >> BucketSlot::kTagShift, 1u);
}

}  // namespace
}  // namespace weir::store
