// The RESP listener over a memory store and a clock that the test moves: "k 2 2 1" stands for
// CL.THROTTLE k 2 2 1.

#include "serve/resp/server.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <thread>

#include "policy/load.h"
#include "support/memory_store.h"
#include "support/raw_client.h"
#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

using testing::RawClient;

class RespServer : public ::testing::Test {
 protected:
  RawClient& start(const std::string& policy_text = "limits: []\n", Options options = {}) {
    auto loaded = policy::load_text("test.yaml", policy_text, policy::Format::kYaml);
    EXPECT_TRUE(loaded.policy) << loaded.mistakes[0].to_line();
    EXPECT_TRUE(engine_.install(*std::move(loaded.policy)));
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = open(loops_, options, {engine_, adhoc_, clock_, registry_});
    EXPECT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
    return connect();
  }

  RawClient& connect() {
    clients_.push_back(std::make_unique<RawClient>(server_->port()));
    return *clients_.back();
  }

  void TearDown() override { loops_.stop(); }

  static std::string encode(const std::string& words) {
    std::istringstream in(words);
    std::vector<std::string> list{std::istream_iterator<std::string>(in), {}};
    const std::vector<std::string_view> views(list.begin(), list.end());
    std::string out;
    append_command(out, views);
    return out;
  }

  // The reply of one command: its lines joined by blanks, without those that only tell lengths.
  static std::string reply(RawClient& client) {
    const std::string line = client.read_until("\r\n");
    if (line.size() < 3) return "closed";
    const std::string text = line.substr(1, line.size() - 3);
    if (line[0] == '$') {
      if (text == "-1") return "nil";
      const std::string bulk = client.read_exactly(std::stoul(text) + 2);
      return bulk.substr(0, bulk.size() - 2);
    }
    if (line[0] != '*' && line[0] != '%') return line[0] == '-' ? "-" + text : text;
    std::string all;
    for (std::size_t i = 0; i < std::stoul(text) * (line[0] == '%' ? 2 : 1); ++i) {
      all += (i == 0 ? "" : " ") + reply(client);
    }
    return all;
  }

  std::string say(RawClient& client, const std::string& words) {
    client.send(encode(words));
    return reply(client);
  }
  // CL.THROTTLE's five integers.
  std::string cell(const std::string& words) { return say(*clients_[0], "CL.THROTTLE " + words); }

  void advance(Duration by) { clock_.set(clock_.now() + by); }

  ManualClock clock_{at_ns(1'700'000'000'000'000'000)};
  metrics::Registry registry_;
  store::MemoryStore store_;
  engine::Engine engine_{store_};
  engine::Adhoc adhoc_{store_, engine_};
  net::Loops loops_{1};
  std::unique_ptr<net::Server> server_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

constexpr Duration ms(std::int64_t n) {
  return std::chrono::milliseconds(n);
}

TEST_F(RespServer, ARateAboveOneASecondIsExact) {
  start();
  const char* const expected[] = {"0 3 2 -1 1", "0 3 1 -1 1", "0 3 1 -1 1", "0 3 0 -1 2",
                                  "0 3 0 -1 2", "1 3 0 1 2",  "0 3 0 -1 2", "1 3 0 1 2"};
  for (const char* five : expected) {
    EXPECT_EQ(cell("k 2 2 1"), five);
    advance(ms(250));
  }
}

TEST_F(RespServer, WaitingTheAdvertisedTimeIsEnough) {
  start();
  EXPECT_EQ(cell("k 0 3 60"), "0 1 0 -1 20");
  advance(ms(500));
  EXPECT_EQ(cell("k 0 3 60"), "1 1 0 20 20");
  advance(ms(18'900));
  EXPECT_EQ(cell("k 0 3 60"), "1 1 0 1 1");
  advance(ms(600));
  EXPECT_EQ(cell("k 0 3 60"), "0 1 0 -1 20");
}

TEST_F(RespServer, ACostAboveTheBucketNeverPassesAndTakesNothing) {
  start();
  EXPECT_EQ(cell("k 4 5 60 6"), "1 5 5 -1 0");
  EXPECT_EQ(cell("k 4 5 60 1"), "0 5 4 -1 12");
}

TEST_F(RespServer, AZeroQuantityIsAPureLook) {
  start();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(cell("k 4 5 5 0"), "0 5 5 -1 0");
  EXPECT_EQ(store_.keys(), 0u);
  EXPECT_EQ(cell("k 4 5 5 1"), "0 5 4 -1 1");
  EXPECT_EQ(cell("k 4 5 5 4"), "0 5 0 -1 5");
  EXPECT_EQ(cell("k 4 5 5 0"), "0 5 0 -1 5");
  EXPECT_EQ(cell("k 4 5 5 1"), "1 5 0 1 5");
}

TEST_F(RespServer, NumbersThatOverflowAreErrorsOrTrue) {
  start();
  EXPECT_TRUE(cell("a 1000000000 1 86400").starts_with("-ERR"));
  EXPECT_TRUE(cell("b 9223372036854775807 1 1").starts_with("-ERR max_burst"));
  EXPECT_TRUE(cell("c 10 1 9223372036854775807").starts_with("-ERR period"));
  EXPECT_EQ(cell("d 10 10 60 9223372036854775807"), "1 11 11 -1 0");
  EXPECT_EQ(cell("d 10 10 60 -9223372036854775808"), "0 11 11 -1 0");
  EXPECT_TRUE(cell("e 9223372036854775808 1 1").starts_with("-ERR max_burst"));
  EXPECT_EQ(cell("ok 0 1 1"), "0 1 0 -1 1");
}

TEST_F(RespServer, TheWaitIsUntilTheNextTokenAndNotUntilFull) {
  start();
  for (int i = 0; i < 5; ++i) cell("k 4 1 1");
  EXPECT_EQ(cell("k 4 1 1"), "1 5 0 1 5");
}

TEST_F(RespServer, NoTokenComesAtHalfAnInterval) {
  start();
  for (int i = 0; i < 6; ++i) cell("k 5 6 60");
  for (int t = 1; t < 10; ++t) {
    advance(ms(1000));
    EXPECT_EQ(cell("k 5 6 60"), "1 6 0 " + std::to_string(10 - t) + " " + std::to_string(60 - t));
  }
  advance(ms(1000));
  EXPECT_EQ(cell("k 5 6 60"), "0 6 0 -1 60");
}

TEST_F(RespServer, ANegativeQuantityRefundsAndIsClampedAtFull) {
  start();
  EXPECT_EQ(cell("k 4 5 5 5"), "0 5 0 -1 5");
  EXPECT_EQ(cell("k 4 5 5 -1"), "0 5 1 -1 4");
  EXPECT_EQ(cell("k 4 5 5 1"), "0 5 0 -1 5");
  EXPECT_EQ(cell("k 4 5 5 -9"), "0 5 5 -1 0");
  EXPECT_EQ(cell("missing 4 5 5 -1"), "0 5 5 -1 0");
}

// A debt that reaches beyond the new time to full is cut to that.
TEST_F(RespServer, AKeyWhoseArgumentsChangeKeepsItsDebtInTime) {
  start();
  for (int i = 0; i < 30; ++i) cell("k 59 60 60");
  EXPECT_EQ(cell("k 5 6 60"), "0 6 2 -1 40");
  EXPECT_EQ(cell("k 5 6 60"), "0 6 1 -1 50");
  EXPECT_EQ(cell("k 5 6 60"), "0 6 0 -1 60");
  EXPECT_EQ(cell("k 5 6 60"), "1 6 0 10 60");
  for (int i = 0; i < 60; ++i) cell("j 59 1 60");
  advance(std::chrono::seconds(1800));
  EXPECT_EQ(cell("j 59 60 60"), "1 60 0 1 60");
}

TEST_F(RespServer, KeysAreBytes) {
  RawClient& client = start();
  const std::string_view keys[] = {{"a\0b", 3}, {"a\0c", 3}, "\xFF\xFE", "a\r\nb", ""};
  for (const std::string_view key : keys) {
    std::string out;
    append_command(out, {"CL.THROTTLE", key, "0", "1", "60"});
    client.send(out);
    EXPECT_EQ(reply(client), "0 1 0 -1 60");
  }
  std::string out;
  append_command(out, {"CL.THROTTLE", std::string(65'537, 'k'), "0", "1", "60"});
  client.send(out);
  EXPECT_TRUE(reply(client).starts_with("-ERR key too long"));
  EXPECT_EQ(say(client, "PING"), "PONG");
}

TEST_F(RespServer, WrongArgumentsAreErrorsAndTheConnectionLives) {
  RawClient& client = start();
  EXPECT_EQ(say(client, "CL.THROTTLE k 1 1"),
            "-ERR wrong number of arguments for 'cl.throttle' command");
  EXPECT_EQ(cell("k x 2 3"), "-ERR max_burst must be a whole number of at most 64 bits");
  EXPECT_EQ(cell("k 1 0 60"), "-ERR count must be more than 0");
  EXPECT_EQ(cell("k 1 1 0"), "-ERR period must be from 1 to 9223372036 seconds");
  EXPECT_EQ(cell("k 1 1 1.5"), "-ERR period must be a whole number of at most 64 bits");
  EXPECT_EQ(cell("k +4 5 60"), "0 5 4 -1 12");
  EXPECT_EQ(cell("none -1 30 60 1"), "1 0 0 -1 0");
  EXPECT_TRUE(say(client, "GET k").starts_with("-ERR unknown command 'GET'"));
  EXPECT_EQ(say(client, "ping"), "PONG");
}

TEST_F(RespServer, ThrottlecrabsCommandAnswersInItsOwnOrder) {
  RawClient& client = start();
  EXPECT_EQ(say(client, "THROTTLE k 2 60 60"), "1 2 1 1 0");
  EXPECT_EQ(say(client, "throttle k 2 60 60 1"), "1 2 0 2 0");
  EXPECT_EQ(say(client, "THROTTLE k 2 60 60"), "0 2 0 2 1");
  EXPECT_EQ(say(client, "THROTTLE k 2 60 60 -1"), "-ERR quantity must be 0 or more");
  EXPECT_EQ(say(client, "THROTTLE k 0 60 60"),
            "-ERR max_burst must be from 1 to 9223372036854775806");
}

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
