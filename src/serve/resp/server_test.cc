// The RESP listener's commands by the policy, its protocol, and how its connections begin and end.

#include "serve/resp/server.h"

#include <gtest/gtest.h>

#include <thread>

#include "serve/resp/test_server.h"

namespace weir::resp {
namespace {

const std::string kPolicy =
    "attributes: [plan]\n"
    "limits: [{ name: login, match: { path: /login }, key: [ip], algorithm: token_bucket, "
    "rate: 0.1/s, burst: 1 }]\n";

TEST_F(RespServer, CheckDecidesByTheAttributesOfARequest) {
  RawClient& client = start(kPolicy);
  EXPECT_EQ(say(client, "WEIR.CHECK 1 ip 203.0.113.7 path /login/"),
            "1 login 0 -1 10000000 0 memory");
  EXPECT_EQ(say(client, "WEIR.CHECK 1 ip 203.0.113.7 path //login"),
            "0 login 0 10000000 10000000 0 memory");
  EXPECT_EQ(say(client, "WEIR.CHECK 1 path /other"), "1 nil 0 -1 0 0 memory");
  EXPECT_EQ(say(client, "WEIR.CHECK 1 ip"), "-ERR an attribute has no value");
  EXPECT_EQ(say(client, "WEIR.CHECK 1 ip 1.2.3"), "-ERR attributes.ip is no IP address");
  EXPECT_TRUE(say(client, "WEIR.CHECK 1 tenant x").starts_with("-ERR attributes.tenant is no"));
  EXPECT_TRUE(say(client, "WEIR.CHECK -1 ip 1.2.3.4").starts_with("-ERR cost must be"));
}

TEST_F(RespServer, TakeDecidesOneLimitByItsName) {
  RawClient& client = start(kPolicy);
  EXPECT_EQ(say(client, "WEIR.TAKE login 1 203.0.113.7"), "1 login 0 -1 10000000 0 memory");
  EXPECT_EQ(say(client, "WEIR.TAKE login 1 203.0.113.7"), "0 login 0 10000000 10000000 0 memory");
  EXPECT_EQ(say(client, "WEIR.CHECK 0 ip 203.0.113.7 path /login"),
            "1 login 0 -1 10000000 0 memory");
  EXPECT_EQ(say(client, "WEIR.TAKE other 1 k"), "-ERR there is no such limit in the policy");
  EXPECT_TRUE(say(client, "WEIR.TAKE login 1").starts_with("-ERR the key of this limit has 1"));
}

TEST_F(RespServer, APipelineIsAnsweredInOrder) {
  RawClient& client = start();
  std::string all;
  for (int i = 0; i < 10'000; ++i) {
    all += encode(i % 3 == 0 ? "ECHO " + std::to_string(i) : "CL.THROTTLE p 99999 1 60");
  }
  client.send(all);
  int left = 99'999;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 3 == 0) {
      ASSERT_EQ(reply(client), std::to_string(i));
    } else {
      ASSERT_TRUE(reply(client).starts_with("0 100000 " + std::to_string(left--) + " -1 "));
    }
  }
}

TEST_F(RespServer, CommandsByteByByteAndTypedByHand) {
  RawClient& client = start();
  for (const char c : encode("CL.THROTTLE k 4 5 60")) client.send({&c, 1});
  EXPECT_EQ(reply(client), "0 5 4 -1 12");
  client.send("CL.THROTTLE k 4 5 60\n\r\n*0\r\nPING\r\n");
  EXPECT_EQ(reply(client), "0 5 3 -1 24");
  EXPECT_EQ(reply(client), "PONG");
}

TEST_F(RespServer, MalformedInputIsAnErrorAndEndsTheConnection) {
  start();
  const std::string bad[] = {"*1\r\n$999999999999999999999\r\n",
                             "*-999999999\r\n",
                             "*1\r\n$-5\r\n",
                             "*1000000000\r\n",
                             "*1\r\n:5\r\n",
                             "*2\r\n$4\r\nPING\r\n+x\r\n",
                             "*1\r\n$4\r\nPINGxx",
                             "*1\r\n*1\r\n*1\r\n",
                             std::string(200'000, 'x'),
                             "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                             "\x16\x03\x01\x02\x00\x01"};
  for (const std::string& bytes : bad) {
    RawClient& client = connect();
    client.send(bytes);
    const std::string said = client.read_all();
    EXPECT_TRUE(said.starts_with("-ERR Protocol error: ")) << bytes.substr(0, 40) << said;
  }
  EXPECT_EQ(say(*clients_[0], "PING"), "PONG");
}

TEST_F(RespServer, MalformedInputChargesNothingAndWhatStoodBeforeItIsAnswered) {
  const std::string take = encode("CL.THROTTLE k 4 5 60");
  const std::string bad[] = {
      "*6\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$536870912\r\n",          // 512 MB to come
      take.substr(0, take.size() - 2) + "xx",                           // longer than it said
      "*5\r\n$11\r\nCL.THROTTLE\r\n*2\r\n$1\r\nk\r\n$1\r\n4\r\n",       // an array in an array
      "CL.THROTTLE \"k 4 5 60\r\n", "CL.THROTTLE k 4 5 60\x01 1\r\n"};  // typed by hand
  start();
  int left = 5;
  for (const std::string& bytes : bad) {
    RawClient& client = connect();
    client.send(take + bytes);
    --left;
    EXPECT_EQ(reply(client),
              "0 5 " + std::to_string(left) + " -1 " + std::to_string(12 * (5 - left)));
    EXPECT_TRUE(client.read_all().starts_with("-ERR Protocol error: ")) << bytes;
  }
  EXPECT_EQ(left, 0);
}

TEST_F(RespServer, ACommandThatIsNotWholeWhenItsClientLeavesChargesNothing) {
  const std::string take = encode("CL.THROTTLE k 4 5 60");
  start();
  for (const std::string& half :
       {take.substr(0, take.size() - 1), take.substr(0, 20), std::string("CL.THROTTLE k 4 5 60")}) {
    RawClient& client = connect();
    client.send(half);
    client.finish_sending();
    EXPECT_EQ(client.read_all(), "");
  }
  EXPECT_EQ(say(connect(), "CL.THROTTLE k 4 5 60 0"), "0 5 5 -1 0");
}

TEST_F(RespServer, WhatClientsSendOnConnect) {
  RawClient& client = start();
  EXPECT_NE(say(client, "HELLO 3").find("proto 3"), std::string::npos);
  EXPECT_EQ(say(client, "HELLO 4"), "-NOPROTO unsupported protocol version: there are 2 and 3");
  EXPECT_EQ(say(client, "CLIENT SETNAME me"), "OK");
  EXPECT_EQ(say(client, "CLIENT GETNAME"), "me");
  EXPECT_EQ(say(client, "CLIENT SETINFO LIB-NAME ioredis"), "OK");
  EXPECT_EQ(say(client, "SELECT 0"), "OK");
  EXPECT_EQ(say(client, "SELECT 99"), "-ERR DB index must be 0 to 15");
  EXPECT_NE(say(client, "INFO").find("loading:0"), std::string::npos);
  EXPECT_EQ(say(client, "COMMAND"), "");
  EXPECT_EQ(say(client, "COMMAND DOCS"), "");
  EXPECT_EQ(say(client, "CONFIG GET save"), "save ");
  EXPECT_EQ(say(client, "ECHO hi"), "hi");
  EXPECT_EQ(say(client, "RESET"), "RESET");
  EXPECT_EQ(say(client, "QUIT"), "OK");
  EXPECT_TRUE(client.at_end());
}

TEST_F(RespServer, APasswordIsWanted) {
  RawClient& client = start("limits: []\nresp: { listen: 127.0.0.1:6380, password: sesame }\n");
  EXPECT_TRUE(say(client, "CL.THROTTLE k 1 1 1").starts_with("-NOAUTH"));
  EXPECT_TRUE(say(client, "PING").starts_with("-NOAUTH"));
  EXPECT_TRUE(say(client, "AUTH wrong").starts_with("-WRONGPASS"));
  EXPECT_EQ(say(client, "AUTH sesame"), "OK");
  EXPECT_EQ(say(client, "PING"), "PONG");
  EXPECT_EQ(say(client, "RESET"), "RESET");
  EXPECT_TRUE(say(client, "PING").starts_with("-NOAUTH"));
  EXPECT_NE(say(client, "HELLO 3 AUTH default sesame").find("weir"), std::string::npos);
  EXPECT_EQ(say(client, "PING"), "PONG");
}

TEST_F(RespServer, AClientThatNeverReadsIsNotReadFrom) {
  RawClient& client = start();
  const std::string echo = encode("ECHO " + std::string(1000, 'e'));
  std::string all;
  for (int i = 0; i < 20'000; ++i) all += echo;
  // Writing 20 MB while nobody reads 20 MB of replies must come to a halt and lose nothing.
  std::thread writer([&] { client.send(all); });
  RawClient& other = connect();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(say(other, "PING"), "PONG");
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(reply(client).size(), 1000u);
  writer.join();
}

TEST_F(RespServer, WhatWasAskedBeforeTheClientStoppedSendingIsAnswered) {
  RawClient& client = start();
  client.send(encode("ECHO a") + encode("ECHO b"));
  client.finish_sending();
  EXPECT_EQ(client.read_all(), "$1\r\na\r\n$1\r\nb\r\n");
}

TEST_F(RespServer, ACommandThatDripsInIsEnded) {
  Options options;
  options.command_timeout = ms(50);
  RawClient& client = start("limits: []\n", options);
  client.send("*1\r\n$4\r\nPI");
  EXPECT_EQ(client.read_all(), "-ERR the command did not arrive in time\r\n");
}

TEST_F(RespServer, DrainAnswersWhatHasCome) {
  Options options;
  options.max_unsent = 64;  // what comes behind waits
  RawClient& client = start("limits: []\n", options);
  EXPECT_EQ(say(client, "PING"), "PONG");
  std::string commands;
  std::string replies;
  for (int i = 0; i < 5'000; ++i) {
    commands += encode("ECHO abcdefgh");
    replies += "$8\r\nabcdefgh\r\n";
  }
  client.send(commands);
  server_->drain(std::chrono::seconds(30), [] {});
  EXPECT_EQ(client.read_all(), replies);
}

TEST_F(RespServer, DrainEndsIdleConnections) {
  RawClient& client = start();
  EXPECT_EQ(say(client, "PING"), "PONG");
  server_->drain(std::chrono::seconds(30), [] {});
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace weir::resp
