#include "policy/limit_flag.h"

#include <gtest/gtest.h>

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

LimitFlags parse(std::vector<std::string> flags) {
  return parse_limit_flags(flags);
}

std::string told(const LimitFlags& flags) {
  std::string out;
  for (const Diagnostic& one : flags.mistakes) out += one.to_string();
  return out;
}

std::string told(const std::string& flag) {
  return told(parse({flag}));
}

TEST(LimitFlag, IsATokenBucketNamedAfterItsPlace) {
  const LimitFlags flags = parse({"10/s", "5 per 1m burst 3"});
  ASSERT_EQ(flags.limits.size(), 2u) << told(flags);
  EXPECT_EQ(flags.limits[0].name, "limit1");
  EXPECT_EQ(flags.limits[0].numbers, (NumberSet{TokenBucket{{1, 100ms}, 10}}));
  EXPECT_TRUE(flags.limits[0].key.empty());
  EXPECT_FALSE(flags.limits[0].match.has_value());
  EXPECT_EQ(flags.limits[1].name, "limit2");
  EXPECT_EQ(flags.limits[1].numbers, (NumberSet{TokenBucket{{1, 12s}, 3}}));
}

TEST(LimitFlag, TakesKeysMethodAndPathInAnyOrder) {
  for (const char* text : {"10/s burst 20 by user|ip,path on POST /login",
                           " 10/s  on POST /login by user|ip,path burst 20 "}) {
    const LimitFlags flags = parse({text});
    ASSERT_EQ(flags.limits.size(), 1u) << told(flags);
    const Limit& limit = flags.limits[0];
    ASSERT_EQ(limit.key.size(), 2u);
    EXPECT_EQ(limit.key[0].alternatives.size(), 2u);
    ASSERT_TRUE(limit.match.has_value());
    ASSERT_EQ(limit.match->conditions.size(), 2u);
    EXPECT_TRUE(limit.match->conditions[0].pattern.matches("POST"));
    EXPECT_TRUE(limit.match->conditions[1].pattern.matches("/login"));
  }
}

TEST(LimitFlag, TakesAPathWithoutAMethod) {
  const LimitFlags flags = parse({"1/s on /api/**"});
  ASSERT_EQ(flags.limits.size(), 1u) << told(flags);
  ASSERT_EQ(flags.limits[0].match->conditions.size(), 1u);
  EXPECT_TRUE(flags.limits[0].match->conditions[0].pattern.matches("/api/x/y"));
}

TEST(LimitFlag, ShowsMistakesInTheFlagItself) {
  EXPECT_EQ(told("10/fortnight by ip"),
            "--limit: rate 'fortnight' is not a unit of a rate, use s, min, h, day, week or month\n"
            "    10/fortnight by ip\n"
            "       ^\n");
  EXPECT_EQ(told("10/s burst many by ip,usr"),
            "--limit: burst is 'many', wants a whole number in plain digits\n"
            "    10/s burst many by ip,usr\n"
            "               ^\n"
            "--limit: unknown attribute 'usr', did you mean user?\n"
            "    10/s burst many by ip,usr\n"
            "                          ^\n"
            "known are ip, user, tier, method, path, host, domain, header.NAME, cookie.NAME, "
            "query.NAME, message, message./POINTER and what `attributes` declares\n");
}

TEST(LimitFlag, TellsWordsThatDoNotFitTheGrammar) {
  const struct {
    const char* flag;
    const char* right;
  } rows[] = {
      {"", "--limit: there is no rate, wants RATE [burst N] [by KEY[,KEY]] [on [METHOD] PATH]"},
      {"by ip",
       "--limit: there is no rate, wants RATE [burst N] [by KEY[,KEY]] [on [METHOD] PATH]"},
      {"10/s burst", "--limit: burst is followed by nothing, wants a number"},
      {"10/s burst by ip", "--limit: burst is followed by nothing, wants a number"},
      {"10/s by", "--limit: by is followed by nothing, wants a KEY such as ip"},
      {"10/s on", "--limit: on is followed by nothing, wants [METHOD] PATH"},
      {"10/s on POST", "--limit: POST is followed by nothing, wants a PATH such as /login or /**"},
      {"10/s by ip by user", "--limit: by stands twice, keep one"},
      {"10/s burst 1 2",
       "--limit: '2' is not expected here, wants RATE [burst N] [by KEY[,KEY]] "
       "[on [METHOD] PATH]"},
      {"10/s from ip",
       "--limit: rate 's from ip' is not a unit of a rate, use s, min, h, day, week "
       "or month"},
      {"10/s by ip,", "--limit: unknown attribute ''"},
      {"10/s on POST login",
       "--limit: path login: a path begins with '/': /** is any path, and a "
       "regular expression begins with '~'"},
  };
  for (const auto& row : rows) {
    const LimitFlags flags = parse({row.flag});
    ASSERT_EQ(flags.mistakes.size(), 1u) << row.flag << "\n" << told(flags);
    EXPECT_EQ(flags.mistakes[0].to_line(), row.right) << row.flag;
    EXPECT_TRUE(flags.limits.empty());
  }
}

TEST(LimitFlag, NumbersTheFlagsInWhichItFindsMistakes) {
  const LimitFlags flags = parse({"10/s", "x"});
  ASSERT_EQ(flags.mistakes.size(), 1u);
  EXPECT_EQ(flags.mistakes[0].file, "--limit 2");
  EXPECT_TRUE(flags.limits.empty());
}

TEST(LimitFlag, WarnsAsAPolicyFileWould) {
  const LimitFlags flags = parse({"10/s by user"});
  ASSERT_EQ(flags.limits.size(), 1u);
  ASSERT_EQ(flags.warnings.size(), 1u);
  EXPECT_NE(flags.warnings[0].message.find("a client can leave it out"), std::string::npos);
}

}  // namespace
}  // namespace weir::policy
