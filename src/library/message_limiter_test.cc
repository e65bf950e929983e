#include "weir/message_limiter.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using Action = MessageRuling::Action;

Engine make_engine(const std::string& websocket = "") {
  auto engine = Engine::from_text(R"(
limits:
  - name: query
    match: { message: query }
    key: [user|ip]
    algorithm: token_bucket
    rate: 0.2/s
    burst: 10
    tiers: { premium: { rate: 1/s, burst: 30 } }
websocket: { max_inspect: 1KiB)" + websocket +
                                  " }\n");
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return *std::move(engine);
}

MessageLimiter connect(Engine& engine, std::initializer_list<AttributeValue> connection) {
  auto limiter = MessageLimiter::make(engine, connection);
  EXPECT_TRUE(limiter.has_value()) << limiter.error().message;
  return *std::move(limiter);
}

int passed_of(MessageLimiter& limiter, int messages) {
  int passed = 0;
  for (int i = 0; i < messages; ++i) {
    passed += limiter.check(R"({"type":"query"})", at_ns(0)).passes() ? 1 : 0;
  }
  return passed;
}

TEST(MessageLimiter, LetsTenOfTwelveQueriesPassAndTellsTheRestToWait) {
  Engine engine = make_engine();
  MessageLimiter limiter = connect(engine, {{"user", "7"}});
  EXPECT_EQ(passed_of(limiter, 11), 10);
  const MessageRuling ruling = limiter.check(R"({"type":"query","request_id":12})", at_ns(0));
  EXPECT_EQ(ruling.action, Action::kRefuse);
  EXPECT_EQ(ruling.reply, R"({"type":"error","code":"RATE_LIMITED","request_id":12,)"
                          R"("message":"rate limited, retry after 5s","retry_after":5})");
  EXPECT_EQ(ruling.decision.limit, "query");
  EXPECT_TRUE(limiter.check(R"({"type":"interrupt"})", at_ns(0)).passes());
  EXPECT_TRUE(limiter.check(R"({"type":"query"})", at_ns(5'000'000'000)).passes());
}

TEST(MessageLimiter, CountsTheConnectionsOfOneUserTogetherAndTiersApart) {
  Engine engine = make_engine();
  MessageLimiter one = connect(engine, {{"user", "7"}});
  MessageLimiter two = connect(engine, {{"user", "7"}, {"ip", "203.0.113.7"}});
  MessageLimiter premium = connect(engine, {{"user", "8"}, {"tier", "premium"}});
  EXPECT_EQ(passed_of(one, 6), 6);
  EXPECT_EQ(passed_of(two, 6), 4);
  EXPECT_EQ(passed_of(premium, 31), 30);
}

TEST(MessageLimiter, RulesOnWhatCannotBeReadAsThePolicySays) {
  Engine refuses = make_engine();
  const std::string is_long = "{\"a\":\"" + std::string(1024, 'x') + "\"}";
  MessageLimiter limiter = connect(refuses, {});
  EXPECT_EQ(limiter.max_inspect(), 1024u);
  EXPECT_NE(limiter.check("hello").reply.find("UNREADABLE_MESSAGE"), std::string::npos);
  EXPECT_NE(limiter.check(is_long).reply.find("too long"), std::string::npos);

  Engine closes = make_engine(", unreadable: close");
  MessageLimiter strict = connect(closes, {});
  EXPECT_EQ(strict.check("hello").close_code, 1003);
  EXPECT_EQ(strict.check(is_long).close_code, 1009);

  Engine passes = make_engine(", unreadable: pass");
  MessageLimiter lax = connect(passes, {});
  EXPECT_TRUE(lax.check("hello").passes() && lax.check(is_long).passes());
}

TEST(MessageLimiter, ClosesAfterSoManyRefusalsInARow) {
  Engine engine = make_engine(", close_after: 2");
  MessageLimiter limiter = connect(engine, {{"user", "7"}});
  EXPECT_EQ(passed_of(limiter, 11), 10);
  EXPECT_TRUE(limiter.check(R"({"type":"ping"})", at_ns(0)).passes());
  const MessageRuling ruling = limiter.check(R"({"type":"query"})", at_ns(0));
  EXPECT_EQ(ruling.action, Action::kClose);
  EXPECT_EQ(ruling.close_code, 1008);
  EXPECT_NE(ruling.reply.find("RATE_LIMITED"), std::string::npos);
}

TEST(MessageLimiter, ObeysAReloadWithTheNextMessage) {
  Engine engine = make_engine();
  MessageLimiter limiter = connect(engine, {{"user", "7"}});
  EXPECT_EQ(passed_of(limiter, 11), 10);
  ASSERT_TRUE(engine.reload_text("limits: []"));
  EXPECT_EQ(passed_of(limiter, 5), 5);
}

TEST(MessageLimiter, RefusesAConnectionOfAttributesThatAreNone) {
  Engine engine = make_engine();
  EXPECT_FALSE(MessageLimiter::make(engine, {{"ip", "nowhere"}}));
  EXPECT_FALSE(MessageLimiter::make(engine, {{"usr", "7"}}));
}

}  // namespace
}  // namespace weir
