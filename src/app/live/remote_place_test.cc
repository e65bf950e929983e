#include "app/live/remote_place.h"

#include <gtest/gtest.h>

#include "app/live/base64.h"

namespace weir::app {
namespace {

RemotePlace place(std::string_view text) {
  auto parsed = parse_remote_place(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->has_value()) << text;
  return **parsed;
}

TEST(RemotePlace, ReadsHostsUserAndKeyOfEtcd) {
  const RemotePlace one = place("etcd://root:s%2Fcret@h1,h2:1234/weir/policy");
  EXPECT_EQ(one.kind, RemotePlace::Kind::kEtcd);
  ASSERT_EQ(one.url.addresses.size(), 2u);
  EXPECT_EQ(one.url.addresses[0].to_string(), "h1:2379");
  EXPECT_EQ(one.url.addresses[1].to_string(), "h2:1234");
  EXPECT_EQ(one.url.username, "root");
  EXPECT_EQ(one.url.password, "s/cret");
  EXPECT_EQ(one.key, "/weir/policy");
  EXPECT_EQ(one.shown, "etcd://root:***@h1,h2:1234/weir/policy");
}

TEST(RemotePlace, ReadsDatabaseAndKeyOfRedis) {
  EXPECT_EQ(place("redis://h/weir:policy").key, "weir:policy");
  const RemotePlace second = place("redis://h:1/2/weir/policy.toml");
  EXPECT_EQ(second.url.database, 2u);
  EXPECT_EQ(second.key, "weir/policy.toml");
  EXPECT_EQ(second.format, policy::Format::kToml);
  EXPECT_EQ(place("redis+sentinel://h/main/policy").url.master, "main");
  EXPECT_EQ(place("redis://h/7").key, "7");
}

TEST(RemotePlace, AFileIsNone) {
  for (const char* file : {"weir.yaml", "/etc/weir/weir.toml", "redis.yaml"}) {
    const auto parsed = parse_remote_place(file);
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->has_value()) << file;
  }
}

TEST(RemotePlace, SaysWhatIsMissing) {
  for (const char* wrong : {"etcd://h", "etcd://h/", "redis://h", "etcd:///key", "redis://h/k?x=1",
                            "etcds://h/k?ca=/does/not/exist"}) {
    EXPECT_FALSE(parse_remote_place(wrong)) << wrong;
  }
}

TEST(Base64, ReadsBackWhatItWrote) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"),
                                  std::string("abc"), std::string("\0\xff\n", 3)}) {
    EXPECT_EQ(from_base64(to_base64(text)), text);
  }
  EXPECT_EQ(to_base64("/weir/policy"), "L3dlaXIvcG9saWN5");
  EXPECT_EQ(from_base64("a"), std::nullopt);
  EXPECT_EQ(from_base64("!!!!"), std::nullopt);
}

}  // namespace
}  // namespace weir::app
