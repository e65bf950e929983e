#include "engine/message.h"

#include "engine/compiled_policy.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

constexpr std::chrono::seconds kFive(5);

policy::Limit query_limit() {
  policy::Limit query = limit("query", bucket(2, kFive), {"user|ip"});
  query.match = match({{"message", {"query"}}});
  return query;
}

class MessageTest : public OverMemory {
 protected:
  Decision send(std::string_view text) {
    EXPECT_TRUE(message_.read(engine_.current(), text)) << text;
    return decide_message();
  }
  Decision decide_message() {
    Decision answer;
    engine_.decide(message_, now_, std::nullopt,
                   [&](Decision decision) { answer = std::move(decision); });
    return answer;
  }
  std::string refusal(const Decision& decision) {
    std::string out;
    append_message_refusal(decision, message_.request_id(), out);
    return out;
  }
  bool watched(const TestRequest& handshake) {
    const auto policy = engine_.current();
    RequestView view(handshake, policy->policy().paths);
    return policy->limits_messages(view);
  }

  TestRequest connection_{{"ip", "203.0.113.7"}, {"path", "/ws"}, {"user", "42"}};
  Message message_{connection_};
};

TEST_F(MessageTest, CountsTheKindThatALimitNamesAndNoOther) {
  install({query_limit()});
  EXPECT_TRUE(send(R"({"type":"query"})").allowed);
  EXPECT_TRUE(send(R"({"type":"query"})").allowed);
  EXPECT_FALSE(send(R"({"type":"query"})").allowed);
  for (const char* other : {R"({"type":"ping"})", "{}", "[]", R"({"type":["query"]})"}) {
    const Decision decision = send(other);
    EXPECT_TRUE(decision.allowed && decision.limits.empty()) << other;
  }
}

TEST_F(MessageTest, IsRefusedWithItsOwnIdAndTheTrueWait) {
  install({query_limit()});
  send(R"({"type":"query"})");
  send(R"({"type":"query"})");
  const std::string rest = R"(,"message":"rate limited, retry after 5s","retry_after":5})";
  EXPECT_EQ(refusal(send(R"({"type":"query","request_id":"r-\u0031"})")),
            R"({"type":"error","code":"RATE_LIMITED","request_id":"r-1")" + rest);
  EXPECT_EQ(refusal(send(R"({"request_id":7.50,"type":"query"})")),
            R"({"type":"error","code":"RATE_LIMITED","request_id":7.50)" + rest);
  EXPECT_EQ(refusal(send(R"({"type":"query","request_id":{}})")),
            R"({"type":"error","code":"RATE_LIMITED","request_id":null)" + rest);
  const std::string huge(Message::kMaxRequestId + 1, 'x');
  EXPECT_EQ(refusal(send(R"({"type":"query","request_id":")" + huge + "\"}")),
            R"({"type":"error","code":"RATE_LIMITED","request_id":null)" + rest);
}

TEST_F(MessageTest, CountsByWhatIsKnownOfConnectionAndMessage) {
  policy::Limit limit = query_limit();
  limit.key = key({"user", "message./room"});
  install({limit});
  const auto in = [&](const char* room) {
    return send(std::string(R"({"type":"query","room":")") + room + "\"}").allowed;
  };
  EXPECT_TRUE(in("a") && in("a") && !in("a"));
  EXPECT_TRUE(in("b") && in("b") && !in("b"));
}

TEST_F(MessageTest, CostsWhatItSaysItselfUpToTheMost) {
  policy::Limit limit = query_limit();
  limit.numbers = {bucket(100, kFive)};
  limit.cost.from = attribute("message./usage/tokens");
  limit.cost.max_cost = 50;
  install({limit});
  const auto cost = [&](const char* tokens) {
    const auto decision =
        send(std::string(R"({"type":"query","usage":{"tokens":)") + tokens + "}}");
    return decision.limits.at(0).cost;
  };
  EXPECT_EQ(cost("3"), 3u);
  EXPECT_EQ(cost("2.5"), 3u);
  EXPECT_EQ(cost("1e1"), 10u);
  EXPECT_EQ(cost("1e300"), 50u);
  EXPECT_EQ(cost("\"20\""), 20u);
  EXPECT_EQ(cost("-20"), 1u);
  EXPECT_EQ(cost("0"), 1u);
  EXPECT_EQ(cost("null"), 1u);
}

TEST_F(MessageTest, ThatCannotBeReadIsCountedByLimitsOnAnyKindAlone) {
  policy::Limit any = limit("any", bucket(1, kFive), {"user"});
  any.match = match({{"message", {"*"}}});
  install({query_limit(), any});
  EXPECT_FALSE(message_.read(engine_.current(), R"({"type":"query","type":"ping"})"));
  EXPECT_EQ(message_.request_id(), "null");
  const Decision decision = decide_message();
  ASSERT_EQ(decision.limits.size(), 1u);
  EXPECT_EQ(decision.limits[0].name, "any");
  message_.clear();
  EXPECT_FALSE(decide_message().allowed);
}

TEST_F(MessageTest, NamesWhyItIsRefusedWhereNoWaitHelps) {
  policy::Limit limit = query_limit();
  limit.cost.from = attribute("message./tokens");
  install({limit});
  EXPECT_EQ(refusal(send(R"({"type":"query","tokens":9})")),
            R"({"type":"error","code":"RATE_LIMITED","request_id":null,)"
            R"("message":"the message costs more than the limit can ever hold",)"
            R"("retry_after":null,"reason":"cost_exceeds_limit"})");
}

TEST_F(MessageTest, MakesAConnectionWatchedOnlyWhereALimitMayApply) {
  policy::Limit query = query_limit();
  query.match = match({{"message", {"query"}}, {"path", {"/ws/**"}}, {"message./x", {"1"}}});
  query.except = {match({{"ip", {"10.0.0.0/8"}}}), match({{"message", {"ping"}}})};
  policy::Policy policy = policy_of({query, limit("requests", bucket(5))});
  policy.exempt = {match({{"host", {"inside"}}}), match({{"message", {"pong"}}})};
  install(policy);
  EXPECT_TRUE(watched({{"path", "/ws/a"}}));
  EXPECT_FALSE(watched({{"path", "/chat"}}));
  EXPECT_FALSE(watched({{"path", "/ws/a"}, {"ip", "10.1.2.3"}}));
  EXPECT_FALSE(watched({{"path", "/ws/a"}, {"host", "inside"}}));
  policy.enabled = false;
  install(policy);
  EXPECT_FALSE(watched({{"path", "/ws/a"}}));
}

TEST(MessageRefusal, OfOneThatCouldNotBeReadHasNoId) {
  std::string out;
  append_unreadable_refusal("the message is not JSON", out);
  EXPECT_EQ(out, R"({"type":"error","code":"UNREADABLE_MESSAGE","request_id":null,)"
                 R"("message":"the message is not JSON","retry_after":null})");
}

}  // namespace
}  // namespace weir::engine
