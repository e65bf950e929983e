// Limited WebSocket connections: what passes, what is answered, and where answers stand.

#include "serve/gateway/message_tunnel.h"

#include "support/late_store.h"
#include "support/websocket_fixture.h"

namespace weir::gateway {
namespace {

using Messages = WebSocketTest;

// The wait of a bucket that a test drains is a moment shorter than its period.
TEST_F(Messages, RefusesWhatIsOverTheLimitAndKeepsTheOrderOfTheRest) {
  limit_queries(2);
  start();
  auto [one, upstream] = opened();
  one.send(query(1) + text(R"({"type":"ping"})") + query(2) + query(3) +
           from_client(Opcode::kPing, "p") + text(R"({"type":"interrupt"})") + query(4));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"ping"})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":2})"));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPing, true, "p"}));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"interrupt"})"));
  EXPECT_EQ(at_client(one), refused(3));
  EXPECT_EQ(at_client(one), refused(4));
  upstream.send(from_server(Opcode::kText, "still here"));
  EXPECT_EQ(at_client(one), sent("still here"));
  EXPECT_EQ(metric("weir_messages_total{outcome=\"allowed\"}"), 4u);
  EXPECT_EQ(metric("weir_messages_total{outcome=\"denied\"}"), 2u);
}

TEST_F(Messages, AnAnswerWaitsForTheEndOfAFragmentedMessage) {
  limit_queries(0);
  policy_.limits[0].numbers = {TokenBucket{Rate{1, std::chrono::hours(5)}, 1}};
  start();
  auto [one, upstream] = opened();
  upstream.send(from_server(Opcode::kText, "one ", false));
  EXPECT_EQ(at_client(one), (Frame{Opcode::kText, false, "one "}));
  one.send(query(1) + query(2));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  one.send(from_client(Opcode::kPong, "mark"));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPong, true, "mark"})) << "query 2 is decided";
  upstream.send(from_server(Opcode::kPing, "between") +
                from_server(Opcode::kContinuation, "message") + from_server(Opcode::kText, "two"));
  EXPECT_EQ(at_client(one), (Frame{Opcode::kPing, true, "between"}));
  EXPECT_EQ(at_client(one), (Frame{Opcode::kContinuation, true, "message"}));
  EXPECT_EQ(at_client(one), refused(2));
  EXPECT_EQ(at_client(one), sent("two"));
}

TEST_F(Messages, AFragmentedMessageIsReadWholeAndControlFramesOvertakeIt) {
  limit_queries(1);
  start();
  RawClient one = client();
  one.send(handshake());
  RawClient upstream = accept();
  open(one, upstream);
  const auto send_in_parts = [&](int id) {
    one.send(
        from_client(Opcode::kText, "{\"type\":\"qu", false) +
        from_client(Opcode::kPing, std::to_string(id)) +
        from_client(Opcode::kContinuation, "", false) +
        from_client(Opcode::kContinuation, "ery\",\"request_id\":" + std::to_string(id), false) +
        from_client(Opcode::kContinuation, "}"));
  };
  send_in_parts(1);
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPing, true, "1"}));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  send_in_parts(2);
  EXPECT_EQ(at_client(one), refused(2));
}

TEST_F(Messages, BytesMayArriveOneByOneOnEitherSide) {
  limit_queries(1);
  start();
  auto [one, upstream] = opened();
  for (const char byte : query(1) + query(2)) one.send(std::string(1, byte));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_client(one), refused(2));
  for (const char byte : from_server(Opcode::kText, "answer")) upstream.send(std::string(1, byte));
  EXPECT_EQ(at_client(one), sent("answer"));
}

TEST_F(Messages, BinaryMessagesAreReadTooAndStayBinary) {
  limit_queries(1);
  start();
  auto [one, upstream] = opened();
  const std::string payload = R"({"type":"query","request_id":5})";
  one.send(from_client(Opcode::kBinary, payload) + from_client(Opcode::kBinary, payload));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kBinary, true, payload}));
  EXPECT_EQ(at_client(one), refused(5));
}

TEST_F(Messages, CountByWhatTheHandshakeSaid) {
  limit_queries(1).key = engine::key({"query.user", "header.x-room", "path"});
  start();
  for (const char* room : {"a", "b"}) {
    for (const bool first : {true, false}) {
      auto [one, upstream] =
          begun("GET /ws?user=%4a HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nX-Room: " +
                std::string(room) + "\r\nConnection: Upgrade\r\nX-Room: 2\r\n\r\n");
      upstream.send(switched());
      one.read_until("\r\n\r\n");
      one.send(query(1));
      if (first) {
        EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
      } else {
        EXPECT_EQ(at_client(one), refused(1));
      }
    }
  }
}

TEST_F(Messages, AreLimitedFromTheFirstByteBehindTheHandshake) {
  limit_queries(1);
  start();
  auto [one, upstream] = begun(handshake() + query(1) + query(2));
  upstream.send(switched() + from_server(Opcode::kText, "hello"));
  one.read_until("\r\n\r\n");
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  const Frame first = at_client(one);
  const Frame second = at_client(one);
  EXPECT_TRUE((first == sent("hello") && second == refused(2)) ||
              (first == refused(2) && second == sent("hello")));
}

TEST_F(Messages, CompressionIsTakenOutOfTheHandshakeWhereMessagesAreLimited) {
  limit_queries(1).match = engine::match({{"message", {"*"}}, {"path", {"/ws"}}});
  start();
  const std::string extensions =
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
      "sec-websocket-protocol: chat\r\n";
  RawClient one = client();
  one.send(handshake(extensions));
  RawClient upstream = accept();
  const std::string head = open(one, upstream);
  EXPECT_FALSE(contains(head, "permessage-deflate")) << head;
  EXPECT_TRUE(contains(head, "sec-websocket-protocol: chat")) << head;

  RawClient elsewhere = client();
  std::string request = handshake(extensions);
  elsewhere.send(request.replace(request.find("/ws"), 3, "/chat"));
  RawClient other = accept();
  EXPECT_TRUE(contains(other.read_until("\r\n\r\n"), extensions));
  other.send(switched("Sec-WebSocket-Extensions: permessage-deflate\r\n"));
  EXPECT_TRUE(contains(elsewhere.read_until("\r\n\r\n"), "permessage-deflate"));
  elsewhere.send("\xc1 no frame of ours");
  EXPECT_EQ(other.read_exactly(18), "\xc1 no frame of ours") << "passed as it is";
}

TEST_F(Messages, AnUpstreamThatAgreesOnWhatWasNotOfferedIs502) {
  limit_queries(1);
  start();
  for (const char* wrong :
       {"Upgrade: websocket\r\nSec-WebSocket-Extensions: x\r\n", "Upgrade: something\r\n"}) {
    auto [one, upstream] = begun(handshake());
    upstream.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" +
                  std::string(wrong) + "\r\n");
    EXPECT_EQ(status_of(one.read_response()), 502) << wrong;
  }
}

TEST_F(Messages, TheConnectionIsClosedAfterSoManyRefusalsInARow) {
  limit_queries(1);
  policy_.websocket.close_after = 2;
  start();
  auto [one, upstream] = opened();
  one.send(query(1) + query(2) + text(R"({"type":"ping"})") + query(3) + query(4));
  EXPECT_EQ(at_client(one), refused(2));
  EXPECT_EQ(at_client(one), refused(3));
  EXPECT_EQ(at_client(one), closing(1008, "too many refused messages"));
  EXPECT_TRUE(one.at_end());
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"ping"})"));
  EXPECT_EQ(at_upstream(upstream), closing(1001));
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Messages, AHeldMessageGoesOnAfterItsDelayAndControlFramesOvertakeIt) {
  policy::Limit& limit = limit_queries(1);
  limit.numbers = {LeakyBucket{Rate{1, std::chrono::milliseconds(300)}, 2}};
  start();
  auto [one, upstream] = opened();
  one.send(query(1) + query(2) + from_client(Opcode::kPing, "fast") +
           text(R"({"type":"interrupt"})") + query(3));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPing, true, "fast"}));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":2})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"interrupt"})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":3})"));
}

TEST_F(Messages, AnotherPolicyHoldsForTheNextMessageOfAnOpenConnection) {
  limit_queries(1);
  start();
  auto [one, upstream] = opened();
  one.send(query(1) + query(2));
  EXPECT_EQ(at_client(one), refused(2));
  policy::Policy other = policy_;
  other.limits[0].match = engine::match({{"message", {"config"}}});
  ASSERT_TRUE(engine_.install(other));
  one.send(query(3));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":3})"));
  one.send(text(R"({"type":"config","request_id":4})"));
  EXPECT_EQ(at_client(one), refused(4)) << "the bucket is what it was";
  other.limits.clear();
  ASSERT_TRUE(engine_.install(other));
  one.send(text("no JSON at all"));
  EXPECT_EQ(at_upstream(upstream), sent("no JSON at all"));
}

TEST_F(Messages, AClientThatDoesNotReadItsRefusalsIsHeldBack) {
  limit_queries(1);
  start();
  auto [one, upstream] = opened();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += query(i);
  std::size_t taken = 0;
  const timeval moment{0, 500'000};  // without room for so long, none will come
  ::setsockopt(one.fd(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
  while (taken < (64u << 20)) {
    const ssize_t n = ::send(one.fd(), many.data(), many.size(), MSG_NOSIGNAL);
    if (n <= 0) break;
    taken += static_cast<std::size_t>(n);
  }
  EXPECT_LT(taken, 64u << 20) << "the gateway goes on reading";
}

class LateMessages : public WebSocketTest {
 protected:
  ~LateMessages() override { loops_.stop(); }
  void answer_one() { late_.answer_one(loops_.at(0)); }

  testing::LateStore late_{store_};
  engine::Engine late_engine_{late_};
};

TEST_F(LateMessages, WaitForTheStoreInOrderWhilePingsPass) {
  limit_queries(1);
  start(late_engine_);
  auto [one, upstream] = opened();
  one.send(query(1) + from_client(Opcode::kPing, "a") + from_client(Opcode::kPong, "b") + query(2) +
           text(R"({"type":"interrupt"})") + from_client(Opcode::kClose, closing(1000).payload));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPing, true, "a"}));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPong, true, "b"}));
  answer_one();
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  answer_one();
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"interrupt"})"));
  EXPECT_EQ(at_upstream(upstream), closing(1000));
  EXPECT_EQ(at_client(one), refused(2));
}

// Nothing more may arrive that would have it looked at.
TEST_F(LateMessages, WhatStandsBehindALongOneFollowsIt) {
  limit_queries(10);
  start(late_engine_);
  for (const std::size_t size : {65'000, 66'000, 200'000}) {
    auto [one, upstream] = opened();
    const std::string message = R"({"type":"query","text":")" + std::string(size, 'x') + "\"}";
    one.send(text(message) + text(R"({"type":"interrupt"})"));
    answer_one();
    EXPECT_EQ(at_upstream(upstream), sent(message));
    EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"interrupt"})"));
  }
}

TEST_F(LateMessages, AFailedStoreRefusesOrLetsPassAsTold) {
  limit_queries(1).on_error = policy::OnError::kDeny;
  start(late_engine_);
  late_.fail();
  auto [one, upstream] = opened();
  one.send(query(1));
  answer_one();
  EXPECT_EQ(at_client(one),
            sent(R"({"type":"error","code":"LIMITER_UNAVAILABLE","request_id":1,)"
                 R"("message":"the rate limiter cannot decide now, retry after 1s",)"
                 R"("retry_after":1})"));
  policy_.limits[0].on_error = policy::OnError::kAllow;
  ASSERT_TRUE(late_engine_.install(policy_));
  one.send(query(2));
  answer_one();
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":2})"));
}

TEST_F(LateMessages, AnAnswerThatComesAfterTheEndHurtsNobody) {
  limit_queries(1);
  start(late_engine_);
  {
    auto [one, upstream] = opened();
    one.send(query(1) + from_client(Opcode::kPing, "asked"));
    EXPECT_EQ(at_upstream(upstream).payload, "asked");
    one.reset();
    EXPECT_TRUE(upstream.at_end());
  }
  answer_one();
  auto [next, upstream] = opened();
  next.send(text(R"({"type":"ping"})"));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"ping"})"));
}

TEST_F(Messages, BothSidesAreToldThatTheServerGoesAwayAsTheListenerDrains) {
  limit_queries(1);
  start();
  RawClient one = client();
  one.send(handshake());
  RawClient upstream = accept();
  open(one, upstream);
  std::promise<void> done;
  gateway_->drain(std::chrono::minutes(5), [&done] { done.set_value(); });
  EXPECT_EQ(at_client(one), closing(1001, "the server is going away"));
  EXPECT_EQ(at_upstream(upstream), closing(1001));
  one.close();
  upstream.close();
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(Messages, AMessageOfTheUpstreamsEndsItsFrameBeforeTheClientIsToldOfTheEnd) {
  limit_queries(1);
  start();
  auto [one, upstream] = opened();
  const std::string whole = from_server(Opcode::kText, "half and half");
  upstream.send(whole.substr(0, 8));
  EXPECT_EQ(one.read_exactly(8), whole.substr(0, 8));
  gateway_->drain(std::chrono::minutes(5), [] {});
  EXPECT_EQ(at_upstream(upstream), closing(1001));
  upstream.send(whole.substr(8));
  EXPECT_EQ(one.read_exactly(whole.size() - 8), whole.substr(8));
  EXPECT_EQ(at_client(one), closing(1001, "the server is going away"));
}

TEST_F(Messages, ATunnelThatNobodyLooksIntoHasAShortGrace) {
  start();
  RawClient one = client();
  one.send(handshake());
  RawClient upstream = accept();
  open(one, upstream);
  std::promise<void> done;
  gateway_->drain(std::chrono::minutes(5), [&done] { done.set_value(); });
  one.send("still passes");
  EXPECT_EQ(upstream.read_exactly(12), "still passes");
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_TRUE(one.at_end());
}

}  // namespace
}  // namespace weir::gateway
