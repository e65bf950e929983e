#include "policy/change.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "policy/format.h"
#include "policy/load.h"

namespace weir::policy {
namespace {

using Lines = std::vector<std::string>;

class ChangeLimit : public ::testing::Test {
 protected:
  explicit ChangeLimit(const std::string& limit = R"(
limits:
  - name: other
    algorithm: unlimited
  - name: a
    key: [user]
    algorithm: token_bucket
    rate: 1/s
    burst: 5
    tiers: { gold: { burst: 50 }, staff: unlimited }
    overrides: [{ key: ["u1"], burst: 7 }, { key: ["u2"], burst: 8 }]
)")
      : loaded_(load_text("p.yaml", limit, Format::kYaml)) {}

  static boost::json::object object(std::string_view text) {
    return parse_json(text)->get_object();
  }
  ChangedLimit change(std::string_view fields, std::vector<OverrideChange> overrides = {}) const {
    return change_limit(*loaded_.policy, *loaded_.tree, 1, {object(fields), std::move(overrides)});
  }
  static std::string numbers(const NumberSet& set) { return format_numbers(set.front()); }

  const Loaded loaded_;
};

TEST_F(ChangeLimit, TakesTheNumbersThatAreGivenAndKeepsTheRest) {
  const auto changed = change(R"({"burst":9})");
  ASSERT_TRUE(changed.limit) << changed.mistakes.front();
  EXPECT_EQ(numbers(changed.limit->numbers),
            numbers({TokenBucket{Rate{1, std::chrono::seconds(1)}, 9}}));
  EXPECT_EQ(changed.limit->name, "a");
  EXPECT_EQ(changed.limit->overrides.size(), 2u);
}

TEST_F(ChangeLimit, TakesNumbersThatJsonWritesWithAPoint) {
  const auto changed = change(R"({"rate":0.2,"burst":50.0})");
  ASSERT_TRUE(changed.limit) << changed.mistakes.front();
  EXPECT_EQ(numbers(changed.limit->numbers),
            numbers({TokenBucket{Rate{1, std::chrono::seconds(5)}, 50}}));
  EXPECT_TRUE(change(R"({"rate":1e3})").limit);
  EXPECT_EQ(change(R"({"burst":1.5})").mistakes,
            Lines{"burst is '1.5', wants a whole number in plain digits"});
}

TEST_F(ChangeLimit, AnotherAlgorithmBringsItsOwnNumbers) {
  const auto changed = change(R"({"algorithm":"fixed_window","limit":3,"window":"1m"})");
  // The tier's burst is no number of a window: what does not fit is told, not dropped.
  EXPECT_FALSE(changed.limit);
  const auto mode = change(R"({"mode":"shadow"})");
  ASSERT_TRUE(mode.limit);
  EXPECT_EQ(mode.limit->mode, Mode::kShadow);
}

TEST_F(ChangeLimit, SaysWhatIsWrongAsTheFileWould) {
  EXPECT_EQ(change(R"({"burst":"many"})").mistakes,
            Lines{"burst is the text 'many', wants a whole number without quotes"});
  EXPECT_EQ(change(R"({"name":"b"})").mistakes,
            Lines{"name cannot be changed here: there are algorithm, mode, tiers and the limit's "
                  "numbers"});
  EXPECT_FALSE(change(R"({"rate":"fast"})").limit);
  EXPECT_FALSE(change(R"({"mode":"off"})").limit);
}

TEST_F(ChangeLimit, AnOverrideTakesThePlaceOfThatOfItsKey) {
  const auto changed = change("{}", {{{"u1"}, object(R"({"burst":70})")},
                                     {{"u3"}, object(R"({"tier":"gold"})")},
                                     {{"u4"}, object(R"({"tier":"staff"})")}});
  ASSERT_TRUE(changed.limit) << changed.mistakes.front();
  std::map<std::string, std::string> found;
  for (const Override& one : changed.limit->overrides) found[one.key[0]] = numbers(one.numbers);
  const auto bucket = [](std::uint64_t burst) {
    return numbers({TokenBucket{Rate{1, std::chrono::seconds(1)}, burst}});
  };
  const std::map<std::string, std::string> wanted{
      {"u1", bucket(70)}, {"u2", bucket(8)}, {"u3", bucket(50)}, {"u4", numbers({Unlimited{}})}};
  EXPECT_EQ(found, wanted);
  EXPECT_FALSE(change("{}", {{{"u3"}, object(R"({"tier":"silver"})")}}).limit);
  EXPECT_FALSE(change("{}", {{{"u3", "x"}, object(R"({"burst":1})")}}).limit);
}

TEST_F(ChangeLimit, ATierIsMergedWithTheOthers) {
  const auto changed = change(R"({"tiers":{"gold":{"burst":60}}})");
  ASSERT_TRUE(changed.limit) << changed.mistakes.front();
  EXPECT_EQ(changed.limit->tiers.size(), 2u);
  EXPECT_EQ(numbers(changed.limit->tiers.at("gold")),
            numbers({TokenBucket{Rate{1, std::chrono::seconds(1)}, 60}}));
}

class ChangeFlat : public ChangeLimit {
 protected:
  ChangeFlat()
      : ChangeLimit(R"(
limits:
  - { name: other, algorithm: unlimited }
  - { name: a, algorithm: token_bucket, rate: 2/s, burst: 5 }
)") {}
};

TEST_F(ChangeFlat, AnotherAlgorithmLeavesOutTheNumbersThatItDoesNotTake) {
  const auto window = change(R"({"algorithm":"fixed_window","limit":3,"window":"1m"})");
  ASSERT_TRUE(window.limit) << window.mistakes.front();
  EXPECT_EQ(numbers(window.limit->numbers), numbers({FixedWindow{3, std::chrono::minutes(1)}}));
  const auto leaky = change(R"({"queue":4,"algorithm":"leaky_bucket"})");
  ASSERT_TRUE(leaky.limit) << leaky.mistakes.front();
  EXPECT_EQ(numbers(leaky.limit->numbers),
            numbers({LeakyBucket{Rate{2, std::chrono::seconds(1)}, 4}}));
  EXPECT_TRUE(change(R"({"algorithm":"unlimited"})").limit);
  EXPECT_FALSE(change(R"({"algorithm":"fixed_window","limit":3,"window":"1m","burst":9})").limit);
  EXPECT_FALSE(change(R"({"algorithm":"fixed_window","limit":3})").limit);
}

class ChangeTable : public ChangeLimit {
 protected:
  ChangeTable()
      : ChangeLimit(R"(
limits:
  - { name: other, algorithm: unlimited }
  - name: a
    algorithm: token_bucket
    token_bucket: { rate: 1/s, burst: 5 }
    sliding_log: { limit: 100, window: 60s }
)") {}
};

TEST_F(ChangeTable, ANumberGoesToTheTableOfTheAlgorithmInUse) {
  const auto bucket = change(R"({"burst":9})");
  ASSERT_TRUE(bucket.limit) << bucket.mistakes.front();
  EXPECT_EQ(std::get<TokenBucket>(bucket.limit->numbers.front()).burst, 9u);
  const auto log = change(R"({"algorithm":"sliding_log","limit":7})");
  ASSERT_TRUE(log.limit) << log.mistakes.front();
  EXPECT_EQ(std::get<SlidingLog>(log.limit->numbers.front()).limit, 7u);
}

class ChangeList : public ChangeLimit {
 protected:
  ChangeList()
      : ChangeLimit(R"(
limits:
  - { name: other, algorithm: unlimited }
  - name: a
    algorithm: fixed_window
    windows: [{ limit: 1, window: 1s }, { limit: 10, window: 1m }]
)") {}
};

TEST_F(ChangeList, OnePairOfNumbersTakesThePlaceOfSeveralAndTheOtherWayRound) {
  const auto one = change(R"({"limit":5,"window":"1h"})");
  ASSERT_TRUE(one.limit) << one.mistakes.front();
  EXPECT_EQ(one.limit->numbers.size(), 1u);
  const auto three = change(R"({"windows":[{"limit":1,"window":"1s"},{"limit":2,"window":"1m"},
                                           {"limit":3,"window":"1h"}]})");
  ASSERT_TRUE(three.limit) << three.mistakes.front();
  EXPECT_EQ(three.limit->numbers.size(), 3u);
}

TEST(ChangePolicy, SwitchesEverythingToShadowOrOff) {
  Policy policy;
  policy.limits.emplace_back();
  EXPECT_EQ(change_policy(policy, parse_json(R"({"mode":"shadow"})")->get_object()), Lines{});
  EXPECT_EQ(policy.mode, Mode::kShadow);
  EXPECT_EQ(policy.limits[0].mode, Mode::kEnforce);
  EXPECT_EQ(change_policy(policy, parse_json(R"({"mode":"enforce"})")->get_object()), Lines{});
  EXPECT_EQ(policy.mode, Mode::kEnforce);
  EXPECT_EQ(change_policy(policy, parse_json(R"({"enabled":false})")->get_object()), Lines{});
  EXPECT_FALSE(policy.enabled);
  EXPECT_EQ(change_policy(policy, parse_json(R"({"limits":[]})")->get_object()),
            Lines{"limits cannot be changed here: there are enabled and mode"});
}

TEST(ReadMeant, ReadsWhoIsMeantAsAMatch) {
  const Policy policy;
  Lines mistakes;
  const auto match =
      read_meant(policy, parse_json(R"({"ip":"203.0.113.0/24"})")->get_object(), mistakes);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->conditions.size(), 1u);
  EXPECT_FALSE(read_meant(policy, parse_json(R"({"ipp":"203.0.113.7"})")->get_object(), mistakes));
  EXPECT_EQ(mistakes.size(), 1u);
}

}  // namespace
}  // namespace weir::policy
