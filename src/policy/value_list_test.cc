#include "policy/value_list.h"

#include <gtest/gtest.h>

#include <fstream>

#include "policy/load.h"
#include "policy/print.h"
#include "support/temporary_folder.h"

namespace weir::policy {
namespace {

constexpr Attribute kIp{Attribute::Kind::kIp, {}};
constexpr Attribute kUser{Attribute::Kind::kUser, {}};

class ValueLists : public testing::Test {
 protected:
  std::shared_ptr<const ValueList> read(const std::string& text, const Attribute& attribute) {
    std::ofstream(file_, std::ios::binary) << text;
    auto list = ValueList::read(file_, attribute);
    mistake_ = list ? std::string() : list.error().message;
    return list ? *list : nullptr;
  }
  static bool has(const ValueList& list, const char* address) {
    return list.matches_ip(*IpAddress::parse(address));
  }

  const support::TemporaryFolder folder_;
  const std::string file_ = folder_ / "list.txt";
  std::string mistake_;
};

TEST_F(ValueLists, AddressesAndBlocksOfEveryLengthAreFound) {
  const auto list = read("# bad hosts\n\n203.0.113.7\r\n 10.0.0.0/8 \n2001:db8::/32\n::1", kIp);
  ASSERT_TRUE(list) << mistake_;
  for (const char* address :
       {"203.0.113.7", "10.1.2.3", "2001:db8:7::1", "::1", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(has(*list, address)) << address;
  }
  for (const char* address : {"203.0.113.8", "11.0.0.0", "2001:db9::1", "::2"}) {
    EXPECT_FALSE(has(*list, address)) << address;
  }
  EXPECT_FALSE(list->matches("203.0.113.7"));
}

TEST_F(ValueLists, ABlockOfEverythingHoldsEveryAddressOfItsFamily) {
  const auto list = read("0.0.0.0/0\n", kIp);
  ASSERT_TRUE(list) << mistake_;
  EXPECT_TRUE(has(*list, "255.255.255.255"));
  EXPECT_FALSE(has(*list, "2001:db8::1"));
}

TEST_F(ValueLists, TextsAreExactWildcardsAndExpressions) {
  const auto list = read("mallory\nbot-*\n~[0-9]+\n#not a value\n", kUser);
  ASSERT_TRUE(list) << mistake_;
  for (const char* value : {"mallory", "bot-7", "bot-", "123"}) {
    EXPECT_TRUE(list->matches(value)) << value;
  }
  for (const char* value : {"Mallory", "a bot-7", "12a", "#not a value", ""}) {
    EXPECT_FALSE(list->matches(value)) << value;
  }
}

TEST_F(ValueLists, AnEmptyFileMatchesNothing) {
  const auto list = read("", kUser);
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->matches(""));
}

TEST_F(ValueLists, TheFirstWrongLineIsNamedByItsNumber) {
  EXPECT_FALSE(read("10.0.0.1\n\n10.0.0.1/8\n", kIp));
  EXPECT_EQ(mistake_, "line 3 is neither an address nor a block without host bits");
  EXPECT_FALSE(read("~(\n", kUser));
  EXPECT_TRUE(mistake_.starts_with("line 1 regular expression ( does not compile")) << mistake_;
  EXPECT_FALSE(ValueList::read(file_ + ".none", kUser));
}

TEST_F(ValueLists, ThereIsABoundOfPatternsAndOneOfLines) {
  std::string patterns;
  for (std::size_t i = 0; i < ValueList::kMaxPatterns; ++i) patterns += std::to_string(i) + "*\n";
  EXPECT_TRUE(read(patterns, kUser)) << mistake_;
  EXPECT_FALSE(read(patterns + "x*\n", kUser));
  EXPECT_TRUE(read(patterns + "exact\n", kUser)) << mistake_;
  std::string lines;
  for (std::size_t i = 0; i < ValueList::kMax; ++i) lines += std::to_string(i) + "\n";
  const auto list = read(lines, kUser);
  ASSERT_TRUE(list) << mistake_;
  EXPECT_TRUE(list->matches("999999"));
  EXPECT_FALSE(read(lines + "more\n", kUser));
}

TEST_F(ValueLists, APolicyNamesThemWhereverAMatchStands) {
  std::ofstream(file_) << "mallory\n";
  const std::string file = "{ file: " + file_ + " }";
  const Loaded loaded =
      load_text("p.yaml",
                "limits: [{ name: a, algorithm: unlimited, match: { user: " + file +
                    " }, except: [{ tier: " + file + " }] }]\nexempt: [{ user: " + file +
                    " }]\nblock: [{ header.x: " + file + ", method: POST }]\n",
                Format::kYaml);
  ASSERT_TRUE(loaded.policy) << loaded.mistakes.at(0).message;
  EXPECT_EQ(listed_files(*loaded.policy), std::vector<std::string>{file_});
  EXPECT_TRUE(loaded.policy->block[0].match.conditions[0].pattern.matches("mallory"));
  const Loaded again = load_text("p.yaml", print_yaml(*loaded.policy), Format::kYaml);
  ASSERT_TRUE(again.policy) << again.mistakes.at(0).message;
  EXPECT_EQ(print_yaml(*again.policy), print_yaml(*loaded.policy));
}

TEST_F(ValueLists, WhatIsWrongWithOneIsAMistakeOfThePolicy) {
  std::ofstream(file_) << "10.0.0.1/8\n";
  const auto mistake = [](const std::string& match) {
    const Loaded loaded =
        load_text("p.yaml", "limits: []\nblock: [" + match + "]\n", Format::kYaml);
    return loaded.mistakes.empty() ? std::string() : loaded.mistakes[0].message;
  };
  EXPECT_EQ(
      mistake("{ ip: { file: " + file_ + " } }"),
      "ip: the file " + file_ + " line 1 is neither an address nor a block without host bits");
  EXPECT_EQ(mistake("{ path: { file: " + file_ + " } }"),
            "path cannot be a list in a file here, write the alternatives out");
  EXPECT_EQ(mistake("{ user: { fiel: x, file: " + file_ + " } }"),
            "unknown key 'fiel' in user, did you mean file?");
  EXPECT_NE(mistake("{ user: { file: /none/such } }").find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace weir::policy
