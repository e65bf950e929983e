// Patterns: exact, wildcard, path, ~regex, CIDR.

#include "policy/pattern.h"

#include <gtest/gtest.h>

#include "policy/path.h"

namespace weir::policy {
namespace {

struct Row {
  const char* pattern;
  std::string_view value;
  bool matches;
};

bool text_matches(std::string_view pattern, std::string_view value) {
  Pattern compiled;
  const auto added = compiled.add_text(pattern);
  EXPECT_TRUE(added.has_value());
  return compiled.matches(value);
}

bool path_matches(std::string_view pattern, std::string_view value) {
  Pattern compiled;
  const auto added = compiled.add_path(pattern);
  EXPECT_TRUE(added.has_value());
  return compiled.matches(value);
}

TEST(Pattern, TextMatchesExactlyByWildcardOrByRegex) {
  using namespace std::string_view_literals;
  const Row table[] = {
      {"free", "free", true},
      {"free", "Free", false},
      {"free", "free ", false},
      {"", "", true},
      {"", "x", false},
      {"*", "", true},
      {"*", "anything", true},
      {"**", "x", true},
      {"a*", "a", true},
      {"a*", "ba", false},
      {"*a", "ba", true},
      {"*a", "ab", false},
      {"a*b*c", "abc", true},
      {"a*b*c", "axxbxxc", true},
      {"a*b*c", "acb", false},
      {"a*a", "a", false},
      {"a*a", "aa", true},
      {"*ab*ab", "ab", false},
      {"*ab*ab", "abab", true},
      {"*.example.com", "a.example.com", true},
      {"*.example.com", "example.com", false},
      {"~a+", "aaa", true},
      {"~a+", "aaab", false},
      {"~a+", "baaa", false},
      {"~a|b", "b", true},
      {"~.*", "with\nnewline", true},
      {"~.*", "\xff\xfe", true},
      {"~.", "\0"sv, true},
      {"~(?i)get", "GET", true},
      {"~", "", true},
      {"~", "x", false},
  };
  for (const Row& row : table) {
    EXPECT_EQ(text_matches(row.pattern, row.value), row.matches) << row.pattern << ' ' << row.value;
  }
}

TEST(Pattern, PathMatchesBySegments) {
  const Row table[] = {
      {"/api", "/api", true},
      {"/api", "/api/x", false},
      {"/api/*", "/api/x", true},
      {"/api/*", "/api", false},
      {"/api/*", "/api/", false},
      {"/api/*", "/api/x/y", false},
      {"/api/*/z", "/api/x/z", true},
      {"/api/*/z", "/api//z", false},
      {"/api/**", "/api", true},
      {"/api/**", "/api/", true},
      {"/api/**", "/api/x/y/z", true},
      {"/api/**", "/apix", false},
      {"/**", "/", true},
      {"/**", "/a/b", true},
      {"/*", "/", false},
      {"/*", "/a", true},
      {"/*/**", "/", false},
      {"/*/**", "/a", true},
      {"/v*/x", "/v1/x", true},
      {"/v*/x", "/v/x", true},
      {"/v*/x", "/v1/y/x", false},
      {"/f/*.jpg", "/f/a.jpg", true},
      {"/f/*.jpg", "/f/a/b.jpg", false},
      {"~/api/[0-9]+", "/api/12", true},
      {"~/api/[0-9]+", "/api/12/x", false},
      {"/", "/", true},
      {"/", "/a", false},
      {"/**", "*", false},
      {"/caf\xc3\xa9", "/caf%C3%A9", true},
      {"/caf%c3%a9", "/caf%C3%A9", true},
      {"/%61pi", "/api", true},
      {"/api/", "/api", true},
      {"/a//b/../c;v=1", "/a/c", true},
  };
  for (const Row& row : table) {
    EXPECT_EQ(path_matches(row.pattern, row.value), row.matches) << row.pattern << ' ' << row.value;
  }
}

TEST(Pattern, RefusesPathsThatCouldNeverMatch) {
  for (const char* text :
       {"", "api", "*", "**", "/a/**/b", "/a**", "/a?x=1", "/a#b", "/a%2", "/%"}) {
    Pattern pattern;
    EXPECT_FALSE(pattern.add_path(text).has_value()) << text;
  }
}

TEST(Pattern, SaysWhatIsWrongWithARegex) {
  Pattern pattern;
  const auto added = pattern.add_text("~(a");
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().message,
            "regular expression (a does not compile: missing ): (a; allowed is the syntax of RE2");
}

TEST(Pattern, TakesLinearTimeOnHostileWildcards) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*aab";
  const std::string value(1 << 20, 'a');
  Pattern compiled;
  ASSERT_TRUE(compiled.add_text(pattern).has_value());
  EXPECT_FALSE(compiled.matches(value));  // quadratic: 4 * 10^9 steps, no test run ends
}

TEST(Pattern, MatchesAnyAlternative) {
  Pattern pattern;
  ASSERT_TRUE(pattern.add_text("GET").has_value());
  ASSERT_TRUE(pattern.add_text("P*T").has_value());
  EXPECT_TRUE(pattern.matches("GET"));
  EXPECT_TRUE(pattern.matches("PUT"));
  EXPECT_FALSE(pattern.matches("HEAD"));
}

TEST(Pattern, MatchesAddressesByBits) {
  Pattern pattern;
  ASSERT_TRUE(pattern.add_cidr("10.0.0.0/8").has_value());
  ASSERT_TRUE(pattern.add_cidr("2001:db8::1").has_value());
  EXPECT_TRUE(pattern.matches_ip(*IpAddress::parse("::ffff:10.1.2.3")));
  EXPECT_TRUE(pattern.matches_ip(*IpAddress::parse("2001:DB8:0::1")));
  EXPECT_FALSE(pattern.matches_ip(*IpAddress::parse("11.0.0.1")));
  EXPECT_FALSE(pattern.matches("10.0.0.1"));
  EXPECT_FALSE(pattern.add_cidr("10.0.0.1/8").has_value());
}

TEST(Pattern, ForHostsIgnoresCaseAndTrailingDot) {
  Pattern written;
  ASSERT_TRUE(written.add_text("API.Example.test.").has_value());
  ASSERT_TRUE(written.add_text("~[AB]\\.example\\.test").has_value());
  const Pattern pattern = prepare_host_pattern(written);
  EXPECT_TRUE(pattern.matches("api.example.test"));
  EXPECT_TRUE(pattern.matches("b.example.test"));
  EXPECT_FALSE(pattern.matches("c.example.test"));
}

TEST(Pattern, FollowsThePathsOptionsOfItsPolicy) {
  Pattern written;
  ASSERT_TRUE(written.add_path("/Api/*/").has_value());
  ASSERT_TRUE(written.add_path("~/Re/[A-Z]").has_value());
  Paths options;
  options.fold_case = true;
  const Pattern folded = prepare_path_pattern(written, options);
  EXPECT_TRUE(folded.matches("/api/x"));
  EXPECT_TRUE(folded.matches("/re/q"));
  options.fold_case = false;
  options.ignore_trailing_slash = false;
  const Pattern strict = prepare_path_pattern(written, options);
  EXPECT_TRUE(strict.matches("/Api/x/"));
  EXPECT_FALSE(strict.matches("/Api/x"));
}

}  // namespace
}  // namespace weir::policy
