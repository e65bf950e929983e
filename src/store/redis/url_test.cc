#include "store/redis/url.h"

#include <gtest/gtest.h>

namespace weir::store::redis {
namespace {

Url parsed(std::string_view text) {
  const auto url = parse_url(text);
  EXPECT_TRUE(url.has_value()) << text << ": " << (url ? "" : url.error().message);
  return url ? *url : Url{};
}

std::string mistake(std::string_view text) {
  const auto url = parse_url(text);
  EXPECT_FALSE(url.has_value()) << text;
  return url ? "" : url.error().message;
}

TEST(RedisUrl, ReadsEveryForm) {
  Url url = parsed("redis://h");
  EXPECT_EQ(url.addresses, (std::vector<Address>{{"h", 6379}}));
  EXPECT_EQ(url.database, 0u);
  EXPECT_FALSE(url.tls);
  EXPECT_TRUE(parsed("rediss://h:1/").tls);

  url = parsed("redis+cluster://u:p@a,b:7001,[::1]:7002");
  EXPECT_EQ(url.topology, Topology::kCluster);
  EXPECT_EQ(url.addresses, (std::vector<Address>{{"a", 6379}, {"b", 7001}, {"::1", 7002}}));
  EXPECT_EQ(url.username, "u");

  url = parsed("rediss+sentinel://s1,s2:5/mymaster/3?sentinel_tls=off");
  EXPECT_EQ(url.topology, Topology::kSentinel);
  EXPECT_EQ(url.addresses, (std::vector<Address>{{"s1", 26379}, {"s2", 5}}));
  EXPECT_EQ(url.master, "mymaster");
  EXPECT_EQ(url.database, 3u);
  EXPECT_TRUE(url.tls);
  EXPECT_FALSE(url.sentinel_tls);

  url = parsed("redis+unix:///run/redis/redis.sock?db=2");
  EXPECT_EQ(url.addresses, (std::vector<Address>{{"/run/redis/redis.sock", 0}}));
  EXPECT_EQ(url.database, 2u);
}

TEST(RedisUrl, DecodesThePasswordAndKeepsItsPlus) {
  const Url url = parsed("redis://:p%40s%3Aw%2Fo%23r%3Fd%25+%C3%A9@h:1/");
  EXPECT_EQ(url.username, "");
  EXPECT_EQ(url.password, "p@s:w/o#r?d%+\xC3\xA9");
  EXPECT_EQ(parsed("redis://u@h").username, "u");
  EXPECT_EQ(parsed("redis://u:a@b@h").password, "a@b");
}

TEST(RedisUrl, ReadsAnIpv6AddressWithItsDatabase) {
  const Url url = parsed("redis://[2001:db8::1]:6379/3");
  EXPECT_EQ(url.addresses.front().to_string(), "[2001:db8::1]:6379");
  EXPECT_EQ(url.database, 3u);
}

TEST(RedisUrl, RefusesWhatIsWrongAndNeverShowsThePassword) {
  for (std::string_view text :
       {"http://u:secret@h", "redis://u:secret@", "redis://u:secret@h/abc",
        "redis://u:secret@h:70000", "redis://u:secret@h:0", "redis://u:secret@h:",
        "redis://u:secret%4@h", "redis://u:secret@a,b", "redis://u:secret@[::1",
        "redis://u:secret@[::1]x", "redis+cluster://u:secret@h/1", "redis+sentinel://u:secret@h",
        "redis+unix://u:secret@path", "redis://u:secret@h?db=1", "redis+unix:///p?x=secret"}) {
    EXPECT_EQ(mistake(text).find("secret"), std::string::npos) << mistake(text);
  }
}

TEST(RedisUrl, MasksThePasswordInEveryForm) {
  EXPECT_EQ(masked("redis://u:secret@h:1/2"), "redis://u:***@h:1/2");
  EXPECT_EQ(masked("rediss://:s@e:c@h"), "rediss://:***@h");
  EXPECT_EQ(masked("redis+sentinel://u:p/w@h1,h2/m"), "redis+sentinel://u:***@h1,h2/m");
  EXPECT_EQ(masked("redis+unix:///path"), "redis+unix:///path");
  EXPECT_EQ(masked("no url at all secret"), "***");
}

}  // namespace
}  // namespace weir::store::redis
