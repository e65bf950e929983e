#include "serve/grpc/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/grpc_server.h"
#include "weir/clock.h"

namespace weir::grpc {
namespace {

using testing::grpc_frame;
using testing::GrpcClient;
using testing::GrpcServer;

// Calls one after the other, until so much time has passed.
void echo_for(GrpcClient& client, Duration time) {
  const SystemClock clock;
  const std::int64_t end = clock.now().steady_ns + time.count();
  while (clock.now().steady_ns < end) ASSERT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, AnswersAUnaryCallWithMessageAndTrailers) {
  const auto& call = start().call("/t.T/Echo", "hello");
  EXPECT_EQ(call.status(), "0");
  EXPECT_EQ(call.message(), "hello");
  EXPECT_EQ(call.headers.at(":status"), "200");
  EXPECT_EQ(call.headers.at("content-type"), "application/grpc");
}

TEST_F(GrpcServer, AnEmptyMessageIsAMessage) {
  const auto& call = start().call("/t.T/Echo", "");
  EXPECT_EQ(call.status(), "0");
  EXPECT_EQ(call.data, std::string(5, '\0'));
}

TEST_F(GrpcServer, AnswersManyStreamsOfOneConnection) {
  GrpcClient& client = start();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 2000; ++i) {
    ids.push_back(client.begin("/t.T/Echo", grpc_frame(std::to_string(i))));
  }
  for (int i = 0; i < 2000; ++i) {
    const auto& call = client.finish(ids[i]);
    ASSERT_EQ(call.status(), "0");
    ASSERT_EQ(call.message(), std::to_string(i));
  }
}

TEST_F(GrpcServer, StatusTextsArePercentEncoded) {
  const auto& call = start().call("/t.T/Fail", "");
  EXPECT_EQ(call.status(), "14");
  EXPECT_EQ(call.text(), "no%0Astore");
  EXPECT_EQ(call.data, "");
}

TEST_F(GrpcServer, UnknownMethodsAreUnimplementedAndTheConnectionLives) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Nope", "x").status(), "12");
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, WhatIsNoGrpcGetsAnHttpStatus) {
  GrpcClient& client = start();
  const auto get = client.call("/t.T/Echo", "", {{":method", "GET"}});
  EXPECT_EQ(get.headers.at(":status"), "405");
  const auto json = client.call("/t.T/Echo", "", {{"content-type", "application/json"}});
  EXPECT_EQ(json.headers.at(":status"), "415");
  EXPECT_EQ(client.call("/t.T/Echo", "", {{"content-type", "application/grpc+proto"}}).status(),
            "0");
}

TEST_F(GrpcServer, CompressedMessagesAreRefused) {
  GrpcClient& client = start();
  const auto gzip = client.finish(
      client.begin("/t.T/Echo", grpc_frame("x", 1), true, {{"grpc-encoding", "gzip"}}));
  EXPECT_EQ(gzip.status(), "12");
  EXPECT_EQ(gzip.headers.at("grpc-accept-encoding"), "identity");
  EXPECT_EQ(client.finish(client.begin("/t.T/Echo", grpc_frame("x", 1))).status(), "13");
  EXPECT_EQ(client.call("/t.T/Echo", "x", {{"grpc-encoding", "gzip"}}).status(), "0");
}

TEST_F(GrpcServer, AMessageOfTheBoundPassesAndOneMoreByteDoesNot) {
  Options options;
  options.max_message = 1000;
  GrpcClient& client = start(options);
  EXPECT_EQ(client.call("/t.T/Echo", std::string(1000, 'x')).status(), "0");
  EXPECT_EQ(client.call("/t.T/Echo", std::string(1001, 'x')).status(), "8");
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, AMessageOfTenMegabytesIsRefusedAndTheConnectionLives) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", std::string(10 << 20, 'x')).status(), "8");
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, UnfinishedMessagesOfAConnectionAreBoundedTogether) {
  Options options;
  options.max_message = 1000;
  GrpcClient& client = start(options);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(client.begin("/t.T/Echo", grpc_frame(std::string(1000, 'x')).substr(0, 950),
                               /*finish=*/false));
  }
  EXPECT_EQ(client.finish(ids[4]).status(), "8");
  client.add(ids[0], std::string(55, 'x'), true);
  EXPECT_EQ(client.finish(ids[0]).status(), "0");
}

TEST_F(GrpcServer, HeadersOverTheirBoundAreRefused) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x", {{"x-long", std::string(17'000, 'x')}}).status(), "8");
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, ATokenIsWantedOfAllButOpenMethods) {
  Options options;
  std::atomic<bool> later = false;
  options.token = [&later] { return std::string(later ? "other" : "s3cret"); };
  GrpcClient& client = start(options);
  const auto status = [&client](GrpcClient::Fields fields, const char* method = "/t.T/Echo") {
    return client.call(method, "x", std::move(fields)).status();
  };
  const auto call = client.call("/t.T/Echo", "x");
  EXPECT_EQ(call.status(), "16");
  EXPECT_EQ(call.text(), "show the token: authorization: Bearer TOKEN");
  EXPECT_EQ(call.data, "");
  EXPECT_EQ(status({{"authorization", "Bearer s3cret"}}), "0");
  EXPECT_EQ(status({{"authorization", "bearer  s3cret"}}), "0");
  for (const char* wrong : {"Bearer s3cre", "Bearer s3crets", "s3cret", "Basic s3cret", "Bearer"}) {
    EXPECT_EQ(status({{"authorization", wrong}}), "16") << wrong;
  }
  EXPECT_EQ(status({{"authorization", "Bearer s3cret"}, {"authorization", "Bearer s3cret"}}), "16");
  EXPECT_EQ(status({}, "/t.T/Nope"), "16");
  EXPECT_EQ(status({}, "/t.T/Open"), "0");
  later = true;  // a reload
  EXPECT_EQ(status({{"authorization", "Bearer s3cret"}}), "16");
  EXPECT_EQ(status({{"authorization", "Bearer other"}}), "0");
}

TEST_F(GrpcServer, ACallWithoutAWholeMessageIsAnError) {
  GrpcClient& client = start();
  EXPECT_EQ(client.finish(client.begin("/t.T/Echo", "")).status(), "13");
  EXPECT_EQ(client.finish(client.begin("/t.T/Echo", grpc_frame("abc").substr(0, 6))).status(),
            "13");
  EXPECT_EQ(client.finish(client.begin("/t.T/Echo", grpc_frame("a") + grpc_frame("b"))).status(),
            "12");
}

TEST_F(GrpcServer, DeadlinesThatHavePassedAreNotServed) {
  GrpcClient& client = start();
  EXPECT_EQ(client.call("/t.T/Echo", "x", {{"grpc-timeout", "0n"}}).status(), "4");
  EXPECT_EQ(client.call("/t.T/Echo", "x", {{"grpc-timeout", "10S"}}).status(), "0");
  EXPECT_EQ(client.call("/t.T/Echo", "x", {{"grpc-timeout", "soon"}}).status(), "3");
}

TEST_F(GrpcServer, AnAnswerThatComesAfterTheDeadlineIsNotSent) {
  answer_later_ = false;
  GrpcClient& client = start();
  const std::int32_t id =
      client.begin("/t.T/Later", grpc_frame("x"), true, {{"grpc-timeout", "200m"}});
  echo_for(client, std::chrono::milliseconds(250));
  loops_.at(0).post([this] {
    if (later_) later_->finish("late");
  });
  const auto& call = client.finish(id);
  EXPECT_EQ(call.status(), "4");
  EXPECT_EQ(call.data, "");
}

TEST_F(GrpcServer, AnAnswerMayComeLater) {
  GrpcClient& client = start();
  const auto& call = client.call("/t.T/Later", "x");
  EXPECT_EQ(call.status(), "0");
  EXPECT_EQ(call.message(), "late");
}

TEST_F(GrpcServer, AnAnswerToACallThatWasCancelledGoesNowhere) {
  answer_later_ = false;
  GrpcClient& client = start();
  const std::int32_t id = client.begin("/t.T/Later", grpc_frame("x"));
  client.flush();
  nghttp2_submit_rst_stream(client.http2(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  loops_.at(0).post([this] { later_->finish("late"); });
  EXPECT_EQ(client.call("/t.T/Echo", "y").message(), "y");
}

TEST_F(GrpcServer, AnAnswerToAConnectionThatEndedGoesNowhere) {
  answer_later_ = false;
  {
    GrpcClient& client = start();
    client.begin("/t.T/Later", grpc_frame("x"));
    EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
    clients_.clear();
  }
  GrpcClient& other = connect();
  EXPECT_EQ(other.call("/t.T/Echo", "x").status(), "0");
  loops_.at(0).post([this] { later_->finish("late"); });
  EXPECT_EQ(other.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, AStreamingCallAnswersEachMessageAsItComes) {
  GrpcClient& client = start();
  const std::int32_t id = client.begin("/t.T/Chat", grpc_frame("one"), /*finish=*/false);
  EXPECT_EQ(client.wait_for_data(id, 8).data, grpc_frame("one"));
  client.add(id, grpc_frame("two") + grpc_frame("three"), true);
  const auto& call = client.finish(id);
  EXPECT_EQ(call.data, grpc_frame("one") + grpc_frame("two") + grpc_frame("three"));
  EXPECT_EQ(call.status(), "0");
}

TEST_F(GrpcServer, AWatchStaysOpenUntilDrain) {
  GrpcClient& client = start();
  const std::int32_t id = client.begin("/t.T/Watch", grpc_frame("a"));
  EXPECT_EQ(client.wait_for_data(id, 6).data, grpc_frame("a"));
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  EXPECT_FALSE(client.wait_for_data(id, 6).closed);
  server_->drain(std::chrono::seconds(30), [] {});
  EXPECT_EQ(client.finish(id).status(), "14");
}

TEST_F(GrpcServer, AnswersKeepToTheClientsWindow) {
  start();
  GrpcClient& client = connect(/*stream_window=*/1000);
  const auto& call = client.call("/t.T/Big", "x");
  EXPECT_EQ(call.status(), "0");
  EXPECT_EQ(call.message().size(), std::size_t{256 << 10});
}

TEST_F(GrpcServer, AnswersThatNobodyTakesAreBounded) {
  start();
  GrpcClient& client = connect(/*stream_window=*/0);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(client.begin("/t.T/Big", grpc_frame("x")));
  EXPECT_EQ(client.finish(ids[19]).status(), "8");
}

TEST_F(GrpcServer, AnswersOfAStreamThatNobodyTakesAreBoundedToo) {
  start();
  GrpcClient& client = connect(/*stream_window=*/0);
  for (int i = 0; i < 17; ++i) client.begin("/t.T/Big", grpc_frame("x"));
  const std::int32_t id = client.begin("/t.T/Chat", grpc_frame("one"), /*finish=*/false);
  EXPECT_EQ(client.finish(id).status(), "8");
}

TEST_F(GrpcServer, DrainTellsTheClientAndFinishesItsCalls) {
  answer_later_ = false;
  GrpcClient& client = start();
  const std::int32_t id = client.begin("/t.T/Later", grpc_frame("x"));
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  std::atomic<bool> drained = false;
  server_->drain(std::chrono::seconds(30), [&] { drained = true; });
  while (client.go_aways() < 2 && client.receive()) client.flush();
  EXPECT_EQ(client.go_away_error(), std::uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_FALSE(drained);
  loops_.at(0).post([this] { later_->finish("late"); });
  EXPECT_EQ(client.finish(id).message(), "late");
  EXPECT_FALSE(client.receive());  // closed by the server
  while (!drained) std::this_thread::yield();
}

TEST_F(GrpcServer, DrainEndsAConnectionThatNeverSpoke) {
  start();
  testing::RawClient silent(server_->port());
  EXPECT_EQ(connect().call("/t.T/Echo", "x").status(), "0");  // so the one before it is accepted
  server_->drain(std::chrono::seconds(30), [] {});
  silent.read_all();
  EXPECT_TRUE(silent.at_end());
}

TEST_F(GrpcServer, AClientThatSpeaksFirstAsTheServerDrainsIsAnsweredAndSentAway) {
  start();
  GrpcClient& client = connect();
  EXPECT_EQ(connect().call("/t.T/Echo", "x").status(), "0");  // so the one before it is accepted
  server_->drain(std::chrono::seconds(30), [] {});
  EXPECT_EQ(client.call("/t.T/Echo", "hello").message(), "hello");
  EXPECT_TRUE(client.told_to_go_away());
  EXPECT_EQ(client.go_away_error(), std::uint32_t{NGHTTP2_NO_ERROR});
}

TEST_F(GrpcServer, ASilentClientIsSentAwayBeforeItsConnectionIsClosed) {
  Options options;
  options.idle_timeout = std::chrono::milliseconds(50);
  GrpcClient& client = start(options);
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
  while (client.receive()) client.flush();
  EXPECT_EQ(client.go_aways(), 1);
  EXPECT_EQ(client.go_away_error(), std::uint32_t{NGHTTP2_NO_ERROR});
}

TEST_F(GrpcServer, AnHttp1ClientIsToldWhatThisPortIs) {
  start();
  testing::RawClient browser(server_->port());
  browser.send("P");  // as HTTP/2 begins too
  browser.send("OST / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string answer = browser.read_all();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 505 ")) << answer;
  EXPECT_TRUE(answer.ends_with("this port speaks gRPC: HTTP/2 with prior knowledge, not this\n"));
}

TEST_F(GrpcServer, AClientThatReadsNothingHoldsNoMoreThanItsBound) {
  Options options;
  options.idle_timeout = std::chrono::milliseconds(200);
  start(options);
  GrpcClient& deaf = connect(/*stream_window=*/1 << 30);
  // Answers of 256 KiB each, to calls that the client keeps sending and whose answers stay unread.
  bool open = true;
  for (int i = 0; i < 2000 && open; ++i) {
    deaf.begin("/t.T/Big", grpc_frame("x"));
    open = deaf.flush();
  }
  EXPECT_EQ(connect().call("/t.T/Echo", "x").status(), "0");  // others go on
  deaf.raw().read_all();
  EXPECT_TRUE(deaf.raw().at_end());  // and it is closed in the end
}

TEST_F(GrpcServer, ACallThatDripsInIsEndedAndOthersGoOn) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(50);
  GrpcClient& client = start(options);
  const std::int32_t id = client.begin("/t.T/Echo", grpc_frame("x").substr(0, 3), false);
  EXPECT_EQ(client.finish(id).status(), "4");
  EXPECT_EQ(client.call("/t.T/Echo", "x").status(), "0");
}

TEST_F(GrpcServer, AStreamThatHasBeenOpenForLongMaySendAMessageInTwoParts) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(500);
  GrpcClient& client = start(options);
  const std::int32_t id = client.begin("/t.T/Chat", grpc_frame("one"), /*finish=*/false);
  EXPECT_EQ(client.wait_for_data(id, 8).data, grpc_frame("one"));
  echo_for(client, std::chrono::milliseconds(550));
  client.add(id, grpc_frame("two").substr(0, 6), /*finish=*/false);
  echo_for(client, std::chrono::milliseconds(50));
  client.add(id, grpc_frame("two").substr(6), /*finish=*/true);
  const auto& call = client.finish(id);
  EXPECT_EQ(call.status(), "0");
  EXPECT_EQ(call.data, grpc_frame("one") + grpc_frame("two"));
}

TEST_F(GrpcServer, ACallThatDripsInIsEndedBesideAStreamThatAlwaysBeginsAnother) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(200);
  GrpcClient& client = start(options);
  const std::string frame = grpc_frame("one");
  const std::int32_t chat = client.begin("/t.T/Chat", frame.substr(0, 6), /*finish=*/false);
  const std::int32_t drips = client.begin("/t.T/Echo", frame.substr(0, 3), /*finish=*/false);
  const SystemClock clock;
  const std::int64_t enough = clock.now().steady_ns + 2'000'000'000;
  for (std::size_t n = 1; !client.wait_for_data(drips, 0).closed; ++n) {
    ASSERT_LT(clock.now().steady_ns, enough);
    client.add(chat, frame.substr(6) + frame.substr(0, 6), /*finish=*/false);
    ASSERT_EQ(client.wait_for_data(chat, n * frame.size()).data.size(), n * frame.size());
  }
  EXPECT_EQ(client.finish(drips).status(), "4");
}

TEST_F(GrpcServer, AClientThatNeverSpeaksIsClosed) {
  Options options;
  options.request_timeout = std::chrono::milliseconds(50);
  start(options);
  testing::RawClient silent(server_->port());
  silent.read_all();
  EXPECT_TRUE(silent.at_end());
}

}  // namespace
}  // namespace weir::grpc
