#include "store/redis/key_name.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weir::store::redis {
namespace {

std::string name(std::string_view counter, std::string_view key, std::string_view kind = "tb") {
  std::string out;
  append_key_name(out, "weir:", counter, kind, key);
  return out;
}

TEST(KeyName, ShowsTheLimitAndTheKey) {
  const std::string shown = name("login", "2:ip,9:192.0.2.1,");
  EXPECT_TRUE(shown.starts_with("weir:{")) << shown;
  EXPECT_TRUE(shown.ends_with("}login:tb/2:ip,9:192.0.2.1,")) << shown;
}

TEST(KeyName, PutsLimitsThatCountByTheSameValuesInOneSlot) {
  const std::string key = "4:user,7:user-42,";
  EXPECT_EQ(slot_of(name("login", key)), slot_of(name("query@tier:premium#2", key, "sc1000000")));
}

TEST(KeyName, TakesTheSlotFromNothingThatAClientSends) {
  EXPECT_NE(slot_of(name("a", "3:{x},")), slot_of("x"));
  EXPECT_NE(slot_of(name("a", "1:},")), slot_of(name("a", "1:{,")));
}

TEST(KeyName, TellsEveryPairOfCounterAndKeyApart) {
  std::set<std::string> names;
  const std::string nul("1:\0,", 4);
  for (std::string_view counter : {"a", "a:tb", "a:tb/b", "a%2F", "a/"}) {
    for (std::string_view key : std::vector<std::string_view>{"", "1:b,", "b", "1:/,", "-", nul}) {
      names.insert(name(counter, key));
    }
  }
  EXPECT_EQ(names.size(), 30u);
}

TEST(KeyName, CutsALongKeyShortAndStillTellsItApart) {
  const std::string longest(kLongestPlainKey, 'x');
  const std::string longer(64 << 10, 'x');
  EXPECT_TRUE(name("a", longest).ends_with(longest));
  EXPECT_LT(name("a", longer).size(), 120u);
  EXPECT_NE(name("a", longer), name("a", longer + 'x'));
}

TEST(Slot, IsWhatRedisSays) {
  EXPECT_EQ(slot_of("123456789"), 12739);
  EXPECT_EQ(slot_of("foo{bar}baz"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{}bar"), slot_of("foo{}bar"));
  EXPECT_NE(slot_of("foo{}bar"), slot_of(""));
  EXPECT_EQ(slot_of("a{b{c}d}"), slot_of("b{c"));
}

}  // namespace
}  // namespace weir::store::redis
