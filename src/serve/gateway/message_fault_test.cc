// What is no WebSocket, no JSON, or too long, on connections whose messages are limited; and how
// such connections end.

#include "support/websocket_fixture.h"

namespace weir::gateway {
namespace {

class MessageFaults : public WebSocketTest {
 protected:
  // What both ends are told after the client has sent these bytes.
  void expect_close(const std::string& bytes, unsigned code) {
    auto [one, upstream] = opened();
    one.send(bytes);
    const Frame told = at_client(one);
    ASSERT_EQ(told.opcode, Opcode::kClose) << told;
    EXPECT_EQ(told.payload.substr(0, 2), closing(code).payload) << told;
    EXPECT_TRUE(one.at_end());
    EXPECT_EQ(at_upstream(upstream), closing(1001)) << "of code " << code;
    EXPECT_TRUE(upstream.at_end());
  }
};

TEST_F(MessageFaults, OfTheClientsFramesEndTheConnectionWithTheirCode) {
  limit_queries(5);
  start();
  std::string no_mask;
  websocket::append_frame(no_mask, Opcode::kText, "{}");
  expect_close(no_mask, 1002);
  expect_close("\xc1\x80", 1002);                                // RSV1
  expect_close("\x83\x80", 1002);                                // an opcode that is none
  expect_close(from_client(Opcode::kPing, "", false), 1002);     // in fragments
  expect_close(from_client(Opcode::kContinuation, "{}"), 1002);  // of nothing
  expect_close(from_client(Opcode::kText, "{", false) + text("}"), 1002);
  expect_close(std::string("\x81\xfe\0\x05", 4), 1002);               // not the shortest length
  expect_close("\x89\xfe", 1002);                                     // a ping of 256 bytes
  expect_close(std::string("\x81\xff\x80\0\0\0\0\0\0\0", 10), 1002);  // 2^63
  expect_close(from_client(Opcode::kClose, "x"), 1002);
  expect_close(from_client(Opcode::kClose, std::string("\x03\xed", 2)), 1002);  // 1005
  expect_close(text("{\"type\":\"\xc3\x28\"}"), 1007);
  expect_close(
      from_client(Opcode::kText, "\xe2\x82", false) + from_client(Opcode::kContinuation, "x"),
      1007);
}

TEST_F(MessageFaults, OfTheUpstreamEndTheConnectionToo) {
  limit_queries(5);
  start();
  for (const std::string& wrong : {std::string("\x81\x80"), std::string("\xc1\x01"),
                                   from_server(Opcode::kContinuation, "x")}) {
    auto [one, upstream] = opened();
    upstream.send(from_server(Opcode::kText, "before") + wrong);
    EXPECT_EQ(at_client(one), sent("before"));
    EXPECT_EQ(at_client(one).payload.substr(0, 2), closing(1014).payload);
    EXPECT_TRUE(one.at_end());
    EXPECT_EQ(at_upstream(upstream), closing(1002));
  }
}

TEST_F(MessageFaults, ACloseFrameWaitsForTheEndOfAFrame) {
  limit_queries(5);
  start();
  auto [one, upstream] = opened();
  const std::string frame = from_server(Opcode::kText, "a frame in pieces", false);
  upstream.send(frame.substr(0, 7));
  EXPECT_EQ(one.read_exactly(7), frame.substr(0, 7));
  one.send("\xc1\x80");
  EXPECT_EQ(at_upstream(upstream), closing(1001));
  upstream.send(frame.substr(7) + from_server(Opcode::kContinuation, "dropped"));
  EXPECT_EQ(one.read_exactly(frame.size() - 7), frame.substr(7));
  EXPECT_EQ(at_client(one).payload.substr(0, 2), closing(1002).payload);
  EXPECT_TRUE(one.at_end());
}

TEST_F(MessageFaults, WhatCannotBeReadIsRefused) {
  limit_queries(5);
  policy_.websocket.max_inspect = 1024;
  start();
  auto [one, upstream] = opened();
  const auto unreadable = [](const char* why) {
    return sent(std::string(R"({"type":"error","code":"UNREADABLE_MESSAGE","request_id":null,)") +
                R"("message":")" + why + R"(","retry_after":null})");
  };
  const Frame no_json = unreadable("the message is not JSON, or names a value twice");
  const Frame too_long = unreadable("the message is too long to be read");
  one.send(text("hello") + text(R"({"type":"ping","type":"query"})") + text(""));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(at_client(one), no_json);
  one.send(text(std::string(1025, ' ')));
  EXPECT_EQ(at_client(one), too_long);
  one.send(from_client(Opcode::kText, std::string(1000, ' '), false) +
           from_client(Opcode::kContinuation, std::string(200, ' '), false));
  EXPECT_EQ(at_client(one), too_long) << "before its end";
  one.send(from_client(Opcode::kContinuation, "rest", false) + from_client(Opcode::kPing, "p") +
           from_client(Opcode::kContinuation, "rest") + query(1) +
           text(std::string(1022, ' ') + "{}"));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kPing, true, "p"}));
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_EQ(at_upstream(upstream), sent(std::string(1022, ' ') + "{}")) << "exactly max_inspect";
  EXPECT_EQ(metric("weir_messages_total{outcome=\"unreadable\"}"), 5u);
}

TEST_F(MessageFaults, WhatCannotBeReadClosesWhereThePolicySaysSo) {
  limit_queries(5);
  policy_.websocket.max_inspect = 1024;
  policy_.websocket.unreadable = policy::Unreadable::kClose;
  start();
  expect_close(text("hello"), 1003);
  expect_close(text(std::string(1025, ' ')), 1009);
}

TEST_F(MessageFaults, WhatCannotBeReadPassesWhereThePolicySaysSoUnlessAnyKindIsLimited) {
  limit_queries(5);
  policy::Limit any = policy_.limits[0];
  any.name = "any";
  any.numbers = {TokenBucket{Rate{1, std::chrono::hours(5)}, 2}};
  any.match = engine::match({{"message", {"*"}}});
  policy_.limits.push_back(any);
  policy_.websocket.max_inspect = 1024;
  policy_.websocket.unreadable = policy::Unreadable::kPass;
  start();
  auto [one, upstream] = opened();
  one.send(from_client(Opcode::kBinary, "\xff\xfe audio"));
  EXPECT_EQ(at_upstream(upstream), (Frame{Opcode::kBinary, true, "\xff\xfe audio"}));
  std::string big(3'000'000, 'a');
  for (std::size_t i = 0; i < big.size(); i += 4096)
    big[i] = static_cast<char>('a' + i / 4096 % 26);
  one.send(from_client(Opcode::kText, big));
  std::string got;
  for (bool first = true, fin = false; !fin; first = false) {
    const Frame piece = at_upstream(upstream);
    ASSERT_EQ(piece.opcode, first ? Opcode::kText : Opcode::kContinuation);
    got += piece.payload;
    fin = piece.fin;
  }
  EXPECT_TRUE(got == big);
  one.send(text(std::string(100'000, 'x')) + text(R"({"type":"query","request_id":9})"));
  const std::string answer = at_client(one).payload;
  EXPECT_TRUE(contains(answer, R"("code":"RATE_LIMITED","request_id":null)")) << answer;
  EXPECT_TRUE(contains(at_client(one).payload, R"("request_id":9)"));
}

TEST_F(MessageFaults, ClosesPassBothWaysAsTheyAre) {
  limit_queries(5);
  start();
  auto [one, upstream] = opened();
  one.send(from_client(Opcode::kClose, closing(4001, "bye").payload) + query(1));
  EXPECT_EQ(at_upstream(upstream), closing(4001, "bye"));
  upstream.send(from_server(Opcode::kText, "last") +
                from_server(Opcode::kClose, closing(4001).payload));
  EXPECT_EQ(at_client(one), sent("last"));
  EXPECT_EQ(at_client(one), closing(4001));
  upstream.finish_sending();
  EXPECT_TRUE(one.at_end());
  one.finish_sending();
  EXPECT_TRUE(upstream.at_end()) << "and no message behind the close";
}

TEST_F(MessageFaults, TheEndOfOneSideIsPassedOnWhileTheOtherSpeaks) {
  limit_queries(5);
  start();
  auto [one, upstream] = opened();
  one.send(query(1) + query(2).substr(0, 9));
  one.finish_sending();
  EXPECT_EQ(at_upstream(upstream), sent(R"({"type":"query","request_id":1})"));
  EXPECT_TRUE(upstream.at_end()) << "half a message is none";
  upstream.send(from_server(Opcode::kText, "answer"));
  EXPECT_EQ(at_client(one), sent("answer"));
  upstream.finish_sending();
  EXPECT_TRUE(one.at_end());
}

TEST_F(MessageFaults, AnUpstreamThatGoesTakesTheClientWithIt) {
  limit_queries(5);
  start();
  auto [one, upstream] = opened();
  upstream.send(from_server(Opcode::kText, "cut").substr(0, 4));
  upstream.finish_sending();
  EXPECT_EQ(one.read_exactly(4), from_server(Opcode::kText, "cut").substr(0, 4));
  EXPECT_TRUE(one.at_end());
  one.reset();
  EXPECT_TRUE(upstream.at_end());
}

}  // namespace
}  // namespace weir::gateway
