#include "app/live/overlay.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "policy/load.h"

namespace weir::app::overlay {
namespace {

const char kPolicy[] = R"(
limits:
  - { name: a, key: [user], algorithm: token_bucket, rate: 1/s, burst: 5 }
  - { name: b, key: [ip], algorithm: fixed_window, limit: 5, window: 1m }
)";

Entry entry(std::string_view set, std::optional<std::int64_t> until_ns = std::nullopt) {
  return {parse_json(set)->get_object(), "test", 1, until_ns};
}

std::uint64_t burst(const Applied& applied) {
  return std::get<TokenBucket>(applied.policy.limits[0].numbers.front()).burst;
}

class Overlay : public ::testing::Test {
 protected:
  Applied apply_all(const Entries& entries, std::int64_t now_ns = 0) const {
    return apply(*loaded_.policy, *loaded_.tree, entries, now_ns);
  }
  const policy::Loaded loaded_ = policy::load_text("p.yaml", kPolicy, policy::Format::kYaml);
};

TEST_F(Overlay, AppliesWhatHoldsNow) {
  const Entries entries{{{"limit", "a"}, entry(R"({"burst":9})", 100)},
                        {{"override", "a", "u"}, entry(R"({"burst":90})")},
                        {{"ban", R"({"ip":"192.0.2.1"})"}, entry(R"({"ip":"192.0.2.1"})", 50)}};
  const Applied now = apply_all(entries, 10);
  EXPECT_EQ(burst(now), 9u);
  EXPECT_EQ(now.policy.limits[0].overrides.size(), 1u);
  ASSERT_EQ(now.policy.block.size(), 1u);
  EXPECT_TRUE(now.policy.block[0].ban);
  EXPECT_EQ(now.policy.block[0].until_ns, 50);
  EXPECT_EQ(now.in_force, 3u);
  const Applied later = apply_all(entries, 100);
  EXPECT_EQ(burst(later), 5u);
  EXPECT_TRUE(later.policy.block.empty());
  EXPECT_EQ(later.in_force, 1u);
}

TEST_F(Overlay, SetsAsideWhatDoesNotFitAndKeepsTheRest) {
  const Entries entries{{{"limit", "gone"}, entry(R"({"burst":9})")},
                        {{"limit", "a"}, entry(R"({"burst":9})")},
                        {{"override", "a", "u"}, entry(R"({"burst":90})")},
                        {{"override", "a", "v", "w"}, entry(R"({"burst":90})")},
                        {{"policy"}, entry(R"({"mode":"quiet"})")}};
  const Applied applied = apply_all(entries);
  EXPECT_EQ(burst(applied), 9u);
  EXPECT_EQ(applied.policy.limits[0].overrides.size(), 1u);
  EXPECT_EQ(applied.in_force, 2u);
  EXPECT_EQ(applied.set_aside.size(), 3u);
}

TEST_F(Overlay, OfTwoEntriesForOneKeyTheNewerHoldsAndTheRestIsKept) {
  Entries entries{{{"limit", "b"}, entry(R"({"limit":9})")},
                  {{"override", "b", "2001:db8::1"}, entry(R"({"limit":50})")},
                  {{"override", "b", "2001:db8::2"}, entry(R"({"limit":60})")},
                  {{"override", "b", "192.0.2.1"}, entry(R"({"limit":70})")}};
  for (const bool first : {true, false}) {
    entries.at({"override", "b", "2001:db8::1"}).at_ns = first ? 9 : 1;
    entries.at({"override", "b", "2001:db8::2"}).at_ns = first ? 1 : 9;
    const Applied applied = apply_all(entries);
    EXPECT_EQ(std::get<FixedWindow>(applied.policy.limits[1].numbers.front()).limit, 9u);
    ASSERT_EQ(applied.policy.limits[1].overrides.size(), 2u);
    const policy::Override& held = applied.policy.limits[1].overrides[1];
    EXPECT_EQ(std::get<FixedWindow>(held.numbers.front()).limit, first ? 50u : 60u);
    EXPECT_EQ(applied.in_force, 3u);
    const std::string older = first ? "2001:db8::2" : "2001:db8::1";
    EXPECT_EQ(applied.set_aside, std::vector<std::string>{to_text({"override", "b", older}) +
                                                          ": a newer change is for the same key"});
  }
}

TEST_F(Overlay, AnOverrideIsNamedAsItsKeyIsCountedUnlessItIsKeptAsWritten) {
  const Entries entries{{{"override", "b", "2001:db8::7"}, entry(R"({"limit":50})")}};
  const auto found = [&](const Name& name) { return target(*loaded_.policy, entries, name); };
  for (const char* key : {"2001:db8::2", "2001:db8::/64", "2001:DB8::1"}) {
    EXPECT_EQ(found({"override", "b", key}), (Name{"override", "b", "2001:db8::"})) << key;
  }
  EXPECT_EQ(found({"override", "b", "192.0.2.1/32"}), (Name{"override", "b", "192.0.2.1"}));
  for (const Name& name :
       {Name{"override", "b", "2001:db8::7"}, Name{"override", "b", "nobody"},
        Name{"override", "c", "192.0.2.1/32"}, Name{"limit", "b"}, Name{"policy"}}) {
    EXPECT_EQ(found(name), name);
  }
}

TEST_F(Overlay, ChecksOneEntryBesideThoseOfItsLimit) {
  const Entries others{{{"limit", "b"}, entry(R"({"algorithm":"sliding_log"})")}};
  const auto check_one = [&](const Name& name, std::string_view set) {
    return check(*loaded_.policy, *loaded_.tree, others, name, entry(set));
  };
  EXPECT_TRUE(check_one({"limit", "a"}, R"({"burst":1})")->empty());
  EXPECT_FALSE(check_one({"limit", "a"}, R"({"limit":"x"})")->empty());
  EXPECT_FALSE(check_one({"ban", "x"}, R"({"who":"x"})")->empty());
  EXPECT_EQ(check_one({"limit", "c"}, R"({"burst":1})").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(check_one({"override", "b", "192.0.2.1"}, R"({"limit":1})")->empty());
}

TEST(OverlayTexts, NamesAndEntriesReadBackAsTheyWere) {
  for (const Name& name : {Name{"policy"}, Name{"limit", "a"}, Name{"override", "a", "x/\"y", "z"},
                           Name{"ban", R"({"ip":"192.0.2.1"})"}}) {
    EXPECT_EQ(name_of(to_text(name)), name);
  }
  const Entry one = entry(R"({"burst":9,"mode":"shadow"})", 7);
  EXPECT_EQ(entry_of(to_text(one)), one);
}

TEST(OverlayTexts, KeysAndMatchesAreToldOnlyWhereKeysAre) {
  const Entry ban = entry(R"({"header.x-api-key":"tok_1","ip":["192.0.2.1"]})", 7);
  const Name override_name{"override", "a", "tok_1", "eu"};
  const Name ban_name{"ban", R"({"header.x-api-key":"tok_1"})"};
  EXPECT_EQ(told(override_name, policy::KeyForm::kPlain), to_text(override_name));
  EXPECT_EQ(told(ban_name, ban, policy::KeyForm::kPlain), to_text(ban));
  for (const policy::KeyForm keys : {policy::KeyForm::kHashed, policy::KeyForm::kOff}) {
    EXPECT_EQ(told(override_name, keys), R"(["override","a","...","..."])");
    EXPECT_EQ(told(ban_name, keys), R"(["ban","..."])");
    EXPECT_EQ(
        told(ban_name, ban, keys),
        R"({"set":{"header.x-api-key":"...","ip":"..."},"who":"test","at_ns":1,"until_ns":7})");
    EXPECT_EQ(told({"limit", "a"}, keys), R"(["limit","a"])");
    EXPECT_EQ(told({"override", "a", "u"}, entry(R"({"burst":9})"), keys),
              R"({"set":{"burst":9},"who":"test","at_ns":1})");
  }
}

TEST(OverlayTexts, WhatIsSetAsideTellsNoKeyWhereKeysAreNotTold) {
  const auto loaded = policy::load_text("p.yaml", std::string("metrics: { keys: off }\n") + kPolicy,
                                        policy::Format::kYaml);
  ASSERT_TRUE(loaded.policy);
  const Applied applied = apply(*loaded.policy, *loaded.tree,
                                {{{"override", "b", "tok_1"}, entry(R"({"limit":1})")},
                                 {{"ban", R"({"ip":"tok_1"})"}, entry(R"({"ip":"tok_1"})")}},
                                0);
  ASSERT_EQ(applied.set_aside.size(), 2u);
  for (const std::string& one : applied.set_aside) {
    EXPECT_EQ(one.find("tok_1"), std::string::npos) << one;
  }
}

TEST(OverlayTexts, WhatIsNoNameOrEntryIsNothing) {
  for (const char* text : {"", "[]", "[1]", R"(["other"])", R"(["limit"])", R"(["override","a"])",
                           R"(["policy","x"])", "{}"}) {
    EXPECT_FALSE(name_of(text)) << text;
  }
  for (const char* text : {"", "[]", "{}", R"({"set":1})"}) EXPECT_FALSE(entry_of(text)) << text;
}

}  // namespace
}  // namespace weir::app::overlay
