// A request that is let through: framing both ways, connections, order.

#include "support/gateway_fixture.h"

namespace weir::gateway {
namespace {

class Proxy : public GatewayTest {};

TEST_F(Proxy, PassesARequestOnAndItsResponseBack) {
  start();
  RawClient one = client();
  one.send("GET /a/../b?x=%41 HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n\r\n");
  RawClient upstream = accept();
  std::string head = upstream.read_until("\r\n\r\n");
  const std::size_t id = head.find("X-Request-Id: ");
  ASSERT_NE(id, std::string::npos);
  head.erase(id, head.find("\r\n", id) + 2 - id);  // another each time
  EXPECT_EQ(head,
            "GET /b?x=%41 HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\nX-Forwarded-For: 127.0.0.1\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: shop\r\nVia: 1.1 weir\r\n\r\n");
  upstream.send(kOk);
  EXPECT_EQ(one.read_response(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nVia: 1.1 weir\r\n\r\nok");
  EXPECT_EQ(metric("weir_requests_total{listener=\"gateway\",outcome=\"allowed\"}"), 1u);
}

TEST_F(Proxy, KeepsBothConnectionsForTheNextRequest) {
  start();
  auto [one, upstream] = begun();
  upstream.send(kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
  for (int i = 0; i < 3; ++i) {
    exchange(one, upstream, kGet, kOk);
    EXPECT_EQ(body_of(one.read_response()), "ok");
  }
  EXPECT_TRUE(nobody_connects());
}

TEST_F(Proxy, AnswersPipelinedRequestsInTheirOrder) {
  start();
  RawClient one = client();
  one.send(
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  RawClient upstream = accept();
  for (const char* path : {"/1", "/2", "/3"}) {
    const std::string head = upstream.read_until("\r\n\r\n");
    EXPECT_EQ(head.substr(4, 2), path);
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + std::string(path));
  }
  for (const char* path : {"/1", "/2", "/3"}) EXPECT_EQ(body_of(one.read_response()), path);
}

TEST_F(Proxy, ReadsARequestThatArrivesByteByByte) {
  start();
  RawClient one = client();
  for (const char c : std::string("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")) {
    one.send(std::string(1, c));
  }
  RawClient upstream = accept();
  upstream.read_until("\r\n\r\n");
  EXPECT_EQ(upstream.read_exactly(3), "abc");
  for (const char c : kOk) upstream.send(std::string(1, c));
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, PassesChunksBothWaysWithTheirTrailers) {
  start();
  RawClient one = client();
  one.send(
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_TRUE(contains(upstream.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(upstream.read_until("\r\n\r\n"), "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
  upstream.send(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nhi\r\n0\r\nX-Time: 7\r\n\r\n");
  EXPECT_TRUE(contains(one.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(one.read_until("\r\n\r\n"), "2\r\nhi\r\n0\r\nX-Time: 7\r\n\r\n");
  exchange(one, upstream, kGet, kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok") << "both connections go on";
}

TEST_F(Proxy, AResponseThatEndsWithItsConnectionIsFramedInChunks) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\n\r\nhello");
  upstream.close();
  EXPECT_TRUE(contains(one.read_until("\r\n\r\n"), "Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(one.read_until("0\r\n\r\n"), "5\r\nhello\r\n0\r\n\r\n");
  one.send(kGet);
  EXPECT_TRUE(accept().connected()) << "the client's connection goes on";
}

TEST_F(Proxy, AnOldClientGetsThePayloadAndTheEndOfTheConnection) {
  start();
  RawClient one = client();
  one.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_TRUE(contains(upstream.read_until("\r\n\r\n"), "Host: 127.0.0.1:"));
  upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  const std::string answer = one.read_all();
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
  EXPECT_EQ(body_of(answer), "hi");
}

TEST_F(Proxy, AnOldClientThatAsksKeepsItsConnection) {
  start();
  auto [one, upstream] = begun("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  upstream.send(kOk);
  EXPECT_TRUE(contains(one.read_response(), "Connection: keep-alive\r\n"));
}

TEST_F(Proxy, TheAnswerToHeadHasNoBodyWhateverItsLengthSays) {
  start();
  auto [one, upstream] = begun("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_TRUE(contains(one.read_until("\r\n\r\n"), "Content-Length: 1000\r\n"));
  exchange(one, upstream, kGet, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 304);
  exchange(one, upstream, kGet, kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, PassesInterimResponsesOn) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" +
                kOk);
  EXPECT_EQ(one.read_until("\r\n\r\n"),
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nVia: 1.1 weir\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 102);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, InterimAndEmptyResponsesPassWithoutALength) {
  start();
  auto [one, upstream] = begun();
  upstream.send(
      "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
      "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(one.read_until("\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nVia: 1.1 weir\r\n\r\n");
  EXPECT_EQ(one.read_until("\r\n\r\n"), "HTTP/1.1 204 No Content\r\nVia: 1.1 weir\r\n\r\n");
  exchange(one, upstream, kGet, kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, AnOldClientSeesNoInterimResponse) {
  start();
  auto [one, upstream] = begun("GET /a HTTP/1.0\r\n\r\n");
  upstream.send("HTTP/1.1 103 Early Hints\r\n\r\n" + kOk);
  EXPECT_EQ(status_of(one.read_all()), 200);
}

TEST_F(Proxy, PassesExpectOnAndTheBodyAfterTheUpstreamsWord) {
  start();
  RawClient one = client();
  one.send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_TRUE(contains(upstream.read_until("\r\n\r\n"), "Expect: 100-continue\r\n"));
  upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 100);
  one.send("abc");
  EXPECT_EQ(upstream.read_exactly(3), "abc");
  upstream.send(kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, AnUpstreamThatRefusesAnExpectedBodyEndsTheConnection) {
  start();
  auto [one, upstream] =
      begun("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  upstream.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
  const std::string answer = one.read_all();
  EXPECT_EQ(status_of(answer), 417);
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
}

TEST_F(Proxy, AHintIsNoWordThatTheBodyMayCome) {
  start();
  auto [one, upstream] =
      begun("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  upstream.send(
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
      "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 103);
  const std::string answer = one.read_all();
  EXPECT_EQ(status_of(answer), 401);
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
}

TEST_F(Proxy, AnUpstreamMayAnswerBeforeItHasReadTheBody) {
  start();
  auto [one, upstream] = begun("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345");
  upstream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  EXPECT_EQ(body_of(one.read_response()), "no");
  one.send("67890" + kGet);
  RawClient second = accept();
  EXPECT_EQ(second.read_until("\r\n\r\n").substr(0, 6), "GET /a") << "the rest was no request";
  second.send(kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, SendsServerSentEventsOnAsTheyCome) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
  one.read_until("\r\n\r\n");
  for (int i = 0; i < 5; ++i) {
    upstream.send("data: 1\n\n");
    EXPECT_EQ(one.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  }
}

TEST_F(Proxy, HoldsAnUpstreamBackThatSendsFasterThanTheClientReads) {
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient upstream = accept();
  upstream.read_until("\r\n\r\n");
  constexpr std::size_t kSize = 64 << 20;
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n");
  const std::string block(1 << 16, 'x');
  std::size_t sent = 0;
  std::size_t refused = 0;
  while (refused < 2000 && sent < kSize) {  // until nothing goes any more
    const ssize_t n = ::send(upstream.fd(), block.data(), block.size(), MSG_DONTWAIT);
    refused = n > 0 ? 0 : refused + 1;
    sent += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  EXPECT_LT(sent, kSize) << "the rest is held back: socket buffers and ours hold some";
  const std::string rest(kSize - sent, 'x');
  auto sending = std::async(std::launch::async, [&] { return upstream.send(rest); });
  EXPECT_EQ(body_of(one.read_until("\r\n\r\n")), "");
  EXPECT_EQ(one.read_exactly(kSize).size(), kSize);
  EXPECT_TRUE(sending.get());
}

// What has arrived at once may be more than goes out at once, and nothing may arrive behind it.
TEST_F(Proxy, ABodyThatArrivesAtOnceGoesOnWhole) {
  policy_.gateway->max_header_bytes = 256 * 1024;
  policy_.gateway->timeouts.body = std::chrono::seconds(2);
  start();
  constexpr std::size_t kSize = 500'000;
  const std::string body(kSize, 'x');
  const std::string length = "Content-Length: " + std::to_string(kSize) + "\r\n\r\n";
  auto [one, upstream] = begun();
  for (int i = 0; i < 10; ++i) {
    upstream.send("HTTP/1.1 200 OK\r\n" + length + body);
    EXPECT_EQ(body_of(one.read_response()).size(), kSize);
    one.send("PUT /a HTTP/1.1\r\nHost: h\r\n" + length + body);
    upstream.read_until("\r\n\r\n");
    EXPECT_EQ(upstream.read_exactly(kSize).size(), kSize);
  }
}

TEST_F(Proxy, ARequestThatFillsTheBufferGoesOnWhole) {
  policy_.gateway->timeouts.body = std::chrono::seconds(2);
  start();
  auto [one, upstream] = begun();
  upstream.send(kOk);
  one.read_response();
  for (const std::size_t size : {400'000, 400'000, 65'400, 65'450, 65'500}) {
    exchange(one, upstream,
             "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                 std::string(size, 'x'),
             "");
    EXPECT_EQ(upstream.read_exactly(size).size(), size);
    upstream.send(kOk);
    EXPECT_EQ(status_of(one.read_response()), 200);
  }
}

TEST_F(Proxy, CarriesBytesBothWaysAfterASwitchOfProtocols) {
  start();
  RawClient one = client();
  one.send("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_TRUE(
      contains(upstream.read_until("\r\n\r\n"), "Upgrade: websocket\r\nConnection: upgrade\r\n"));
  upstream.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
      "Upgrade: websocket\r\n\r\nfirst");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 101);
  EXPECT_EQ(one.read_exactly(5), "first");
  one.send("ping");
  EXPECT_EQ(upstream.read_exactly(4), "ping");
  one.finish_sending();
  EXPECT_EQ(upstream.read_all(), "") << "the end of one side is passed on";
  upstream.send("still here");
  EXPECT_EQ(one.read_exactly(10), "still here");
  upstream.close();
  EXPECT_TRUE(one.at_end());
}

TEST_F(Proxy, AnUpgradeToAnythingButWebSocketIsNotPassedOn) {
  start();
  RawClient one = client();
  one.send(
      "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\n"
      "Upgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_FALSE(contains(upstream.read_until("\r\n\r\n"), "h2c"));
}

TEST_F(Proxy, AnUpgradeThatIsRefusedLeavesHttp) {
  start();
  auto [one, upstream] =
      begun("GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  upstream.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(body_of(one.read_response()), "no");
  exchange(one, upstream, kGet, kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, SendsEachRequestToTheNextUpstream) {
  auto other = net::listen_on({"127.0.0.1", 0}, 1);
  policy_.gateway->upstream.servers.push_back(upstream("127.0.0.1", other->port));
  start();
  auto [one, first] = begun();
  first.send(kOk);
  one.read_response();
  one.send(kGet);
  int fd = -1;
  while (fd < 0) fd = ::accept4(other->sockets[0].get(), nullptr, nullptr, SOCK_CLOEXEC);
  RawClient second(RawClient::Accepted{fd});
  second.read_until("\r\n\r\n");
  second.send(kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Proxy, ANewPolicyHoldsForTheNextRequestOfAnOpenConnection) {
  start();
  auto [one, upstream] = begun();
  upstream.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
  limit_all(0);
  ASSERT_TRUE(engine_.install(policy_));
  one.send(kGet);
  EXPECT_EQ(status_of(one.read_response()), 429);
}

}  // namespace
}  // namespace weir::gateway
