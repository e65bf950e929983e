// Who may come in: passwords, and users of little rights, over every kind of connection.

#include <gtest/gtest.h>

#include "redis/faults.h"

namespace weir {
namespace {

using namespace support;

TEST(RedisLogin, SaysThatTheServerWantsAnotherPasswordAndNeverTellsIt) {
  RedisServer server({"--requirepass", "p@s:w/o#r?d%+"});
  for (std::string_view who : {"", ":wrong@"}) {
    Runner runner(
        hasty("redis://" + std::string(who) + "127.0.0.1:" + std::to_string(server.port())));
    int known = 0;
    times(runner, bucket(10), 20, known);
    EXPECT_EQ(known, 0);
    EXPECT_EQ(runner.store().trouble().find("wrong"), std::string::npos);
    EXPECT_FALSE(runner.store().up());
  }
  Runner runner(support::patient(
      "redis://:p%40s%3Aw%2Fo%23r%3Fd%25+@127.0.0.1:" + std::to_string(server.port()) + "/3"));
  EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known);
}

TEST(RedisLogin, LogsInAsAUserWithTheLeastRights) {
  RedisServer server;
  RedisClient client(server.socket_path());
  client({"ACL",    "SETUSER", "weir",    "on",    ">secret",           "~weir:*", "+@scripting",
          "+get",   "+set",    "+del",    "+pttl", "+pexpire",          "+time",   "+zscore",
          "+zcard", "+zcount", "+zrange", "+zadd", "+zremrangebyscore", "+exists", "+hello",
          "+auth",  "+ping",   "+client"});
  Runner runner(support::patient("redis://weir:secret@127.0.0.1:" + std::to_string(server.port())));
  EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known);
  const Charge log{.rule = &rule_of(SlidingLog{3, seconds(10)}), .counter = "log", .key = "1:k,"};
  EXPECT_TRUE(runner.charge({bucket(10), log}, support::wall_now()).answers[1].known);
}

TEST(RedisLogin, ReachesItsDatabaseOverAHostAnAddressAndAUnixSocket) {
  RedisServer server({"--requirepass", "p@s:w/o#r?d%+\xC3\xA9"});
  RedisClient client(server.socket_path());
  client({"AUTH", "p@s:w/o#r?d%+\xC3\xA9"});
  const std::string password = ":p%40s%3Aw%2Fo%23r%3Fd%25+%C3%A9@";
  const std::string port = ":" + std::to_string(server.port());
  for (const std::string& url : {"redis://" + password + "127.0.0.1" + port + "/3",
                                 "redis://" + password + "localhost" + port + "/3",
                                 "redis+unix://" + password + server.socket_path() + "?db=3"}) {
    client({"FLUSHALL"});
    Runner runner(support::patient(url));
    EXPECT_TRUE(runner.charge(bucket(10), support::wall_now()).known) << url;
    client({"SELECT", "3"});
    EXPECT_EQ(client({"DBSIZE"}).integer(), 1) << url;
    client({"SELECT", "0"});
    EXPECT_EQ(client({"DBSIZE"}).integer(), 0) << url;
  }
}

TEST(RedisLogin, SaysSoWhereTheSocketIsNotThereOrItsPathIsTooLong) {
  for (const std::string& path :
       {std::string("/nonexistent/socket"), "/" + std::string(200, 'x')}) {
    Runner runner(hasty("redis+unix://" + path));
    int known = 0;
    times(runner, bucket(10), 20, known);
    EXPECT_EQ(known, 0);
    EXPECT_FALSE(runner.store().trouble().empty());
  }
}

}  // namespace
}  // namespace weir
