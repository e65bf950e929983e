// Paths and hosts in normal form.

#include "policy/path.h"

#include <gtest/gtest.h>

namespace weir::policy {
namespace {

struct Row {
  const char* path;
  const char* upstream;
  const char* match;
};

std::pair<std::string, std::string> normal(std::string_view path, const Paths& options = {}) {
  PathBuffer buffer;
  const auto result = normalise_path(path, options, buffer);
  if (!result) return {"error", "error"};
  return {std::string(result->upstream), std::string(result->match)};
}

void expect_rows(std::initializer_list<Row> rows, const Paths& options = {}) {
  for (const Row& row : rows) {
    EXPECT_EQ(normal(row.path, options),
              std::make_pair(std::string(row.upstream), std::string(row.match)))
        << row.path;
  }
}

TEST(Path, IsPutInNormalFormOnceForUpstreamAndMatching) {
  expect_rows({
      {"/", "/", "/"},
      {"/login", "/login", "/login"},
      {"/login/", "/login/", "/login"},
      {"*", "*", "*"},
      {"//login", "/login", "/login"},
      {"///login", "/login", "/login"},
      {"/./login", "/login", "/login"},
      {"/x/..//login", "/login", "/login"},
      {"/login//", "/login/", "/login"},
      {"/api//x", "/api/x", "/api/x"},
      {"\\login", "error", "error"},
      {"/login\\", "/login%5C", "/login%5C"},
      {"/\\login", "/%5Clogin", "/%5Clogin"},
      // dot segments
      {"/..", "/", "/"},
      {"/../../etc/passwd", "/etc/passwd", "/etc/passwd"},
      {"/a/../..", "/", "/"},
      {"/a/b/..", "/a/", "/a"},
      {"/a/b/.", "/a/b/", "/a/b"},
      {"/a/./b/", "/a/b/", "/a/b"},
      {"/a/.../b", "/a/.../b", "/a/.../b"},
      {"/.hidden/..x", "/.hidden/..x", "/.hidden/..x"},
      {"/%2e%2E/login", "/login", "/login"},
      {"/x/.%2e/login", "/login", "/login"},
      // escapes
      {"/%6Cogin", "/login", "/login"},
      {"/%7euser", "/~user", "/~user"},
      {"/caf%c3%a9", "/caf%C3%A9", "/caf%C3%A9"},
      {"/caf\xc3\xa9", "/caf%C3%A9", "/caf%C3%A9"},
      {"/a%2fb", "/a%2Fb", "/a%2Fb"},
      {"/a%3bb", "/a%3Bb", "/a%3Bb"},
      {"/a%00b", "/a%00b", "/a%00b"},
      {"/a\"b<c>", "/a%22b%3Cc%3E", "/a%22b%3Cc%3E"},
      {"/%252e%252e/x", "/%252e%252e/x", "/%252e%252e/x"},
      {"/%25%32%65", "/%252e", "/%252e"},
      {"/%", "error", "error"},
      {"/%2", "error", "error"},
      {"/%g0", "error", "error"},
      {"/%0g", "error", "error"},
      {"/a%", "error", "error"},
      {"/%-1", "error", "error"},
      {"", "error", "error"},
      {"login", "error", "error"},
      // ;params are ignored for matching only
      {"/api/items;v=1", "/api/items;v=1", "/api/items"},
      {"/a;x=1/b;y", "/a;x=1/b;y", "/a/b"},
      {"/a/;x", "/a/;x", "/a"},
      {"/a/;x/b", "/a/;x/b", "/a/b"},
      {"/;x", "/;x", "/"},
      {"/x/..;/login", "/login", "/login"},
      {"/x/.;a=1/login", "/x/login", "/x/login"},
  });
}

TEST(Path, OptionsSwitchEachRuleOff) {
  Paths slashes;
  slashes.merge_slashes = false;
  expect_rows({{"//login", "//login", "//login"},
               {"/a//", "/a//", "/a/"},
               {"/a//../b", "/a/b", "/a/b"},
               {"/a//..", "/a/", "/a"}},
              slashes);
  Paths trailing;
  trailing.ignore_trailing_slash = false;
  expect_rows({{"/login/", "/login/", "/login/"}, {"/login;x/", "/login;x/", "/login/"}}, trailing);
  Paths params;
  params.ignore_params = false;
  expect_rows({{"/a;x", "/a;x", "/a;x"}, {"/a/..;/b", "/a/..;/b", "/a/..;/b"}}, params);
  Paths fold;
  fold.fold_case = true;
  expect_rows({{"/LOGIN", "/LOGIN", "/login"}, {"/A%2fB%c3", "/A%2FB%C3", "/a%2Fb%C3"}}, fold);
  Paths refuse;
  refuse.keep_encoded_slash = false;
  expect_rows(
      {{"/a%2Fb", "error", "error"}, {"/a%2fb", "error", "error"}, {"/a%20b", "/a%20b", "/a%20b"}},
      refuse);
}

TEST(Path, IsUnchangedByASecondNormalisation) {
  for (const char* path :
       {"/a//b/../c;x/%2e%2e/%41%2f", "/x/..;/y", "/%25%32%65", "/\\", "/a/;x/b/"}) {
    const std::string once = normal(path).first;
    EXPECT_EQ(normal(once).first, once) << path;
  }
}

TEST(Path, ReadsAnEncodedSlashBothWays) {
  const struct {
    const char* match;
    const char* decoded;  // "-": there is no other reading
  } table[] = {
      {"/a/b", "-"},
      {"/a%2Fb", "/a/b"},
      {"/a%2F", "/a"},
      {"/a%2F%2Fb", "/a/b"},
      {"/open/x%2F..%2F..%2Flogin", "/login"},
      {"/%2F..%2F..%2Fx", "/x"},
      {"/a%252Fb", "-"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(with_slashes_decoded(row.match, Paths{}).value_or("-"), row.decoded) << row.match;
  }
}

TEST(Path, IsReadFromEveryFormOfATarget) {
  const struct {
    const char* target;
    const char* read;  // path, query, authority
  } table[] = {
      {"/a?b=1", "/a b=1 -"},
      {"/a?", "/a  -"},
      {"/a", "/a - -"},
      {"/a?b?c", "/a b?c -"},
      {"//a/b", "//a/b - -"},
      {"*", "* - -"},
      {"http://example.test/a?b", "/a b example.test"},
      {"http://example.test", "/ - example.test"},
      {"http://example.test?b", "/ b example.test"},
      {"/a#b", "error"},
      {"example.test:443", "error"},
      {"a/b://c", "error"},
      {"://x", "error"},
      {"", "error"},
  };
  for (const auto& row : table) {
    const auto target = split_target(row.target);
    std::string read = "error";
    if (target) {
      read = std::string(target->path) + ' ' + std::string(target->query.value_or("-")) + ' ' +
             std::string(target->authority.value_or("-"));
    }
    EXPECT_EQ(read, row.read) << row.target;
  }
}

TEST(Host, IsComparedWithoutPortTrailingDotAndCase) {
  const struct {
    const char* host;
    const char* normal;
  } table[] = {
      {"API.Example.TEST", "api.example.test"},
      {"api.example.test.", "api.example.test"},
      {"api.example.test:80", "api.example.test"},
      {"api.example.test.:443", "api.example.test"},
      {"api.example.test:", "api.example.test"},
      {"203.0.113.5:8080", "203.0.113.5"},
      {"[2001:DB8:0::1]:8080", "[2001:db8::1]"},
      {"[::ffff:203.0.113.5]", "203.0.113.5"},
      {"", "none"},
      {"a:b", "error"},
      {"a:80:80", "error"},
      {"::1", "error"},
      {"[::1", "error"},
      {"[::1]x", "error"},
      {"[203.0.113.5]", "error"},
      {":80", "error"},
      {".", "error"},
      {"a..", "error"},
      {"a b", "error"},
      {"a/b", "error"},
      {"user@host", "error"},
  };
  for (const auto& row : table) {
    const auto host = normalise_host(row.host);
    EXPECT_EQ(host ? host->value_or("none") : "error", row.normal) << row.host;
  }
}

}  // namespace
}  // namespace weir::policy
