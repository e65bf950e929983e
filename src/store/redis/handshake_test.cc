#include "store/redis/handshake.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/redis/breaker.h"
#include "store/redis/cluster_map.h"
#include "store/redis/refusal.h"

namespace weir::store::redis {
namespace {

constexpr std::string_view kHello =
    "%3\r\n+server\r\n+redis\r\n+mode\r\n+standalone\r\n"
    "+role\r\n+master\r\n";

constexpr std::string_view kNo = "-ERR x\r\n";

// Plays the server: feeds each reply, and notes the first word or two of what is sent.
struct Played {
  std::vector<std::string> sent;
  Handshake::Progress progress = Handshake::Progress::kGoesOn;
};

std::string words_of(const std::string& command) {
  std::string text;
  for (std::size_t i = 0; i < command.size();) {
    const std::size_t end = command.find("\r\n", i);
    const std::string line = command.substr(i, end - i);
    if (line[0] != '*' && line[0] != '$') text += (text.empty() ? "" : " ") + line;
    i = end + 2;
  }
  return text;
}

Played play(Handshake& handshake, const std::vector<std::string_view>& replies) {
  Played played;
  for (std::string_view reply : replies) {
    played.sent.push_back(words_of(handshake.next()));
    resp::ReplyParser parser;
    EXPECT_EQ(parser.parse(reply), resp::Progress::kComplete) << reply;
    played.progress = handshake.receive(parser.reply());
  }
  return played;
}

TEST(Handshake, GreetsSelectsAndIntroducesItself) {
  const Handshake::Options options{{"u", "p"}, 3, false, false};
  Handshake handshake(options);
  const Played played =
      play(handshake, {kHello, "+OK\r\n", "-ERR unknown subcommand\r\n", "$1\r\nx\r\n", kNo, kNo});
  EXPECT_EQ(
      std::vector(played.sent.begin(), played.sent.begin() + 3),
      (std::vector<std::string>{"HELLO 3 AUTH u p", "SELECT 3", "CLIENT SETINFO LIB-NAME weir"}));
  for (std::size_t i = 3; i < 6; ++i) EXPECT_TRUE(played.sent[i].starts_with("SCRIPT LOAD -- "));
  EXPECT_EQ(played.progress, Handshake::Progress::kDone);
  EXPECT_TRUE(handshake.resp3());
  EXPECT_FALSE(handshake.is_replica());
}

TEST(Handshake, FallsBackToResp2WithAnOldServer) {
  const Handshake::Options options{{"", "p"}, 0, false, false};
  Handshake handshake(options);
  const Played played =
      play(handshake, {"-ERR unknown command 'HELLO'\r\n", "+OK\r\n", kNo, kNo, kNo, kNo});
  EXPECT_EQ(played.sent[1], "AUTH p");
  EXPECT_EQ(played.progress, Handshake::Progress::kDone);
  EXPECT_FALSE(handshake.resp3());
}

TEST(Handshake, FailsWithoutThePasswordInItsWords) {
  const Handshake::Options options{{"u", "secret"}, 0, false, false};
  Handshake handshake(options);
  const Played played = play(handshake, {"-WRONGPASS invalid secret\r\n"});
  EXPECT_EQ(played.progress, Handshake::Progress::kFailed);
  EXPECT_EQ(handshake.error().find("secret"), std::string::npos);
}

TEST(Handshake, NamesTheSettingWhereTheServerIsOfAnotherKind) {
  const Handshake::Options single{{}, 0, false, false};
  Handshake to_cluster(single);
  play(to_cluster, {"%1\r\n+mode\r\n+cluster\r\n"});
  EXPECT_NE(to_cluster.error().find("redis+cluster://"), std::string::npos);

  const Handshake::Options cluster{{}, 0, true, false};
  Handshake to_single(cluster);
  play(to_single, {kHello});
  EXPECT_NE(to_single.error().find("redis://"), std::string::npos);

  Handshake to_sentinel(single);
  play(to_sentinel, {"%1\r\n+mode\r\n+sentinel\r\n"});
  EXPECT_NE(to_sentinel.error().find("redis+sentinel://"), std::string::npos);
}

TEST(Handshake, NoticesAReplica) {
  const Handshake::Options options;
  Handshake handshake(options);
  play(handshake, {"%1\r\n+role\r\n+replica\r\n"});
  EXPECT_TRUE(handshake.is_replica());
}

TEST(Refusal, IsKnownByItsWord) {
  EXPECT_EQ(refusal_of("NOSCRIPT No matching script."), Refusal::kNoScript);
  EXPECT_EQ(refusal_of("READONLY You can't write"), Refusal::kReadOnly);
  EXPECT_EQ(refusal_of("ERR MOVED"), Refusal::kOther);
  EXPECT_EQ(refusal_of(""), Refusal::kOther);
  EXPECT_TRUE(ran_nothing(Refusal::kTryAgain));
  EXPECT_FALSE(ran_nothing(Refusal::kOther));
  EXPECT_FALSE(ran_nothing(Refusal::kForeign));
}

TEST(Refusal, LeadsWhereItSays) {
  const auto redirect = redirect_of("MOVED 3999 127.0.0.1:6381");
  ASSERT_TRUE(redirect.has_value());
  EXPECT_EQ(redirect->slot, 3999);
  EXPECT_EQ(redirect->address, (Address{"127.0.0.1", 6381}));
  EXPECT_EQ(redirect_of("ASK 1 ::1:7")->address, (Address{"::1", 7}));
  EXPECT_EQ(redirect_of("MOVED 1 :7")->address.host, "");
  for (std::string_view text : {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h",
                                "MOVED 1 h:", "MOVED 1 h:0", "MOVED 1 h:70000", "MOVED -1 h:1"}) {
    EXPECT_FALSE(redirect_of(text).has_value()) << text;
  }
}

TEST(ClusterMap, KnowsThePrimaryOfEverySlot) {
  resp::ReplyParser parser;
  ASSERT_EQ(parser.parse("*2\r\n*4\r\n:0\r\n:100\r\n*3\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n"
                         "*3\r\n$1\r\nr\r\n:9\r\n$2\r\nid\r\n"
                         "*3\r\n:102\r\n:16383\r\n*3\r\n$0\r\n\r\n:2\r\n$2\r\nid\r\n"),
            resp::Progress::kComplete);
  ClusterMap map;
  EXPECT_FALSE(map.known());
  EXPECT_EQ(map.primary_of(0), nullptr);
  ASSERT_TRUE(map.update(parser.reply(), Address{"asked", 5}));
  EXPECT_EQ(*map.primary_of(100), (Address{"a", 1}));
  EXPECT_EQ(map.primary_of(101), nullptr);
  EXPECT_EQ(*map.primary_of(102), (Address{"asked", 2}));
  map.move(101, Address{"b", 3});
  EXPECT_EQ(*map.primary_of(101), (Address{"b", 3}));
}

TEST(ClusterMap, KeepsWhatItHasWhereAnAnswerMakesNoSense) {
  ClusterMap map;
  map.move(7, Address{"b", 3});
  for (std::string_view text :
       {"*0\r\n", "-ERR\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n+a\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n+a\r\n:0\r\n"}) {
    resp::ReplyParser parser;
    ASSERT_EQ(parser.parse(text), resp::Progress::kComplete);
    EXPECT_FALSE(map.update(parser.reply(), Address{"x", 1})) << text;
  }
  EXPECT_EQ(*map.primary_of(7), (Address{"b", 3}));
}

TEST(Breaker, OpensAfterFiveFailuresInARowAndClosesAtTheFirstAnswer) {
  Breaker breaker;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker.failed());
  EXPECT_FALSE(breaker.succeeded());
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(breaker.failed());
  EXPECT_TRUE(breaker.failed());
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.failed()) << "it is open already";
  EXPECT_TRUE(breaker.succeeded());
  EXPECT_FALSE(breaker.open());
}

TEST(Backoff, GrowsToHalfASecondAndNoFurther) {
  Backoff backoff(42);
  Duration last{0};
  for (int i = 0; i < 40; ++i) {
    last = backoff.next();
    EXPECT_GT(last, Duration(0));
    EXPECT_LE(last, Backoff::kLongest);
  }
  EXPECT_GE(last, Backoff::kLongest * 3 / 4);
  backoff.reset();
  EXPECT_LE(backoff.next(), Backoff::kFirst);
}

}  // namespace
}  // namespace weir::store::redis
