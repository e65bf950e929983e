// Numbers that callers bring themselves: CL.THROTTLE and THROTTLE, through the listener.

#include "serve/resp/test_server.h"

namespace weir::resp {
namespace {

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

}  // namespace
}  // namespace weir::resp
