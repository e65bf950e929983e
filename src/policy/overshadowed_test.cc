#include "policy/overshadowed.h"

#include <gtest/gtest.h>

#include "policy/load.h"

namespace weir::policy {
namespace {

// The limits of a policy that are useless, each as "useless<by".
std::string useless(const std::string& limits) {
  const Loaded loaded = load_text("p.yaml", "limits:\n" + limits, Format::kYaml);
  if (!loaded.policy) return loaded.mistakes.front().message;
  const auto& list = loaded.policy->limits;
  const auto found = find_overshadowed(list);
  std::string out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) out += list[i].name + '<' + list[*found[i]].name + ' ';
  }
  return out;
}

TEST(Overshadowed, ALimitBehindAStricterOneOfTheSameKeyIsUseless) {
  EXPECT_EQ(useless("- {name: a, key: [ip], algorithm: token_bucket, rate: 1/s, burst: 5}\n"
                    "- {name: b, key: [ip], algorithm: token_bucket, rate: 120/min, burst: 5}\n"),
            "b<a ");
  EXPECT_EQ(useless("- {name: a, key: [ip], algorithm: sliding_log, limit: 50, window: 1s}\n"
                    "- {name: b, key: [ip], algorithm: sliding_log, limit: 50, window: 1m}\n"),
            "a<b ");
}

TEST(Overshadowed, OneWithoutAMatchCoversOneWithAMatchAndNotTheOtherWayRound) {
  const std::string login = "match: {path: /login}, ";
  EXPECT_EQ(useless("- {name: a, key: [ip], algorithm: fixed_window, limit: 5, window: 1m}\n"
                    "- {name: b, " +
                    login + "key: [ip], algorithm: fixed_window, limit: 6, window: 1m}\n"),
            "b<a ");
  EXPECT_EQ(useless("- {name: a, key: [ip], algorithm: fixed_window, limit: 6, window: 1m}\n"
                    "- {name: b, " +
                    login + "key: [ip], algorithm: fixed_window, limit: 5, window: 1m}\n"),
            "");
}

TEST(Overshadowed, OfTwoEqualOnesTheFirstStays) {
  const std::string numbers = "key: [ip], algorithm: fixed_window, limit: 5, window: 1m}\n";
  EXPECT_EQ(useless("- {name: a, " + numbers + "- {name: b, " + numbers), "b<a ");
}

TEST(Overshadowed, OnePairOfNumbersThatIsTighterIsEnoughToBeOfUse) {
  EXPECT_EQ(useless("- {name: a, algorithm: sliding_log, windows: [{limit: 1, window: 1s}, "
                    "{limit: 10, window: 1m}]}\n"
                    "- {name: b, algorithm: sliding_log, limit: 9, window: 30s}\n"
                    "- {name: c, algorithm: sliding_log, limit: 10, window: 30s}\n"),
            "c<a ");
}

TEST(Overshadowed, WhatDiffersInKeyCostModeOrTiersIsLeftAlone) {
  const std::string a = "- {name: a, key: [ip], algorithm: fixed_window, limit: 5, window: 1m";
  const std::string b = "- {name: b, key: [ip], algorithm: fixed_window, limit: 9, window: 1m";
  EXPECT_EQ(useless(a + "}\n" + b + "}\n"), "b<a ");
  EXPECT_EQ(useless(a + ", cost: 2}\n" + b + "}\n"), "");
  EXPECT_EQ(useless(a + ", mode: shadow}\n" + b + "}\n"), "");
  EXPECT_EQ(useless(a + "}\n" + b + ", tiers: {x: {limit: 1}}}\n"), "");
  EXPECT_EQ(useless(a + ", except: [{path: /x}]}\n" + b + "}\n"), "");
  EXPECT_EQ(useless(a + ", missing: share}\n" + b + "}\n"), "");
  EXPECT_EQ(useless(a + "}\n- {name: b, key: [user], algorithm: fixed_window, limit: 9, "
                        "window: 1m}\n"),
            "");
}

}  // namespace
}  // namespace weir::policy
