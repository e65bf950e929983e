// What goes wrong on either side: closes at every point, silence in every phase, draining.

#include "support/gateway_fixture.h"

namespace weir::gateway {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon(50);

class Fault : public GatewayTest {
 protected:
  // Connects client and upstream by one exchange, so that the next goes over a used connection.
  void warm_up(RawClient& one, RawClient& upstream) {
    upstream.read_until("\r\n\r\n");
    upstream.send(kOk);
    EXPECT_EQ(body_of(one.read_response()), "ok");
  }

  static bool says(const std::string& answer, int status, const std::string& code) {
    return status_of(answer) == status && contains(answer, "{\"code\":\"" + code + "\"");
  }
};

TEST_F(Fault, AnUpstreamThatIsNotThereIs502AndStillCharged) {
  limit_all(2);
  start();
  stop_upstream();
  RawClient one = client();
  for (int i = 0; i < 2; ++i) {
    one.send(kGet);
    const std::string answer = one.read_response();
    EXPECT_TRUE(says(answer, 502, "UPSTREAM_UNREACHABLE")) << answer;
    EXPECT_TRUE(contains(answer, "X-RateLimit-Limit: 2\r\n")) << "with the rate headers";
  }
  one.send(kGet);
  EXPECT_EQ(status_of(one.read_response()), 429) << "charged at admission, not given back";
  EXPECT_EQ(metric("weir_requests_total{listener=\"gateway\",outcome=\"error\"}"), 2u);
  EXPECT_EQ(metric("weir_requests_total{listener=\"gateway\",outcome=\"allowed\"}"), 0u);
  EXPECT_EQ(metric("weir_upstream_faults_total"), 2u);
}

TEST_F(Fault, ANameThatNobodyKnowsIs503) {
  policy_.gateway->upstream.servers = {upstream("no-such-host.invalid", 80)};
  start();
  RawClient one = client();
  one.send(kGet);
  EXPECT_TRUE(says(one.read_response(), 503, "UPSTREAM_UNRESOLVED"));
}

TEST_F(Fault, WhereOneUpstreamIsDownTheNextIsAsked) {
  policy_.gateway->upstream.servers.insert(policy_.gateway->upstream.servers.begin(),
                                           upstream("127.0.0.1", 1));
  start();
  auto [one, upstream] = begun();
  upstream.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
}

TEST_F(Fault, AnUpstreamThatClosesWithoutAnAnswerIs502) {
  start();
  RawClient one = client();
  one.send(kGet);
  {
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
  }
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_CLOSED"));
  EXPECT_TRUE(nobody_connects()) << "a fresh connection is not tried again";
}

TEST_F(Fault, AnUpstreamThatSendsInterimResponsesWithoutEndIs502) {
  start();
  auto [one, upstream] = begun();
  std::string storm;
  for (int i = 0; i < 129; ++i) storm += "HTTP/1.1 102 Processing\r\n\r\n";
  upstream.send(storm);
  for (int i = 0; i < 128; ++i) ASSERT_EQ(status_of(one.read_until("\r\n\r\n")), 102) << i;
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_BAD_RESPONSE"));
}

TEST_F(Fault, AnUpstreamThatClosesInsideItsHeadIs502) {
  start();
  RawClient one = client();
  one.send(kGet);
  {
    RawClient upstream = accept();
    upstream.read_until("\r\n\r\n");
    upstream.send("HTTP/1.1 200 OK\r\nConte");
  }
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_CLOSED"));
}

TEST_F(Fault, AnUpstreamThatDoesNotSpeakHttpIs502) {
  start();
  auto [one, upstream] = begun();
  upstream.send("SSH-2.0-OpenSSH\r\n");
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_BAD_RESPONSE"));
}

TEST_F(Fault, AResponseWithTwoLengthsIs502) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!");
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_BAD_RESPONSE"));
}

TEST_F(Fault, ASwitchOfProtocolsThatNobodyAskedForIs502) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_BAD_RESPONSE"));
}

TEST_F(Fault, ABodyThatBreaksOffBreaksTheClientsConnectionOff) {
  start();
  const std::string heads[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
  };
  for (const std::string& head : heads) {
    RawClient one = client();
    one.send(kGet);
    {
      RawClient upstream = accept();
      upstream.read_until("\r\n\r\n");
      upstream.send(head);
      EXPECT_TRUE(contains(one.read_until("abc"), "200 OK"));
    }
    EXPECT_FALSE(contains(one.read_all(), "0\r\n\r\n")) << "no end that looks right";
  }
}

TEST_F(Fault, AResetInABodyUntilCloseDoesNotLookLikeItsEnd) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\n\r\nabc");
  one.read_until("abc\r\n");
  upstream.reset();
  EXPECT_EQ(one.read_all(), "");
}

TEST_F(Fault, AnIdempotentRequestOnAConnectionThatHasDiedIsSentAgain) {
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient first = accept();
  warm_up(one, first);
  one.send(kGet);
  first.read_until("\r\n\r\n");  // it gets the request, and goes without a word
  first.close();
  RawClient second = accept();
  second.read_until("\r\n\r\n");
  second.send(kOk);
  EXPECT_EQ(body_of(one.read_response()), "ok");
}

TEST_F(Fault, ARequestThatIsNotIdempotentIsNeverSentTwice) {
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient first = accept();
  warm_up(one, first);
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  first.read_until("\r\n\r\n");
  first.close();
  EXPECT_TRUE(says(one.read_response(), 502, "UPSTREAM_CLOSED"));
  EXPECT_TRUE(nobody_connects());
}

TEST_F(Fault, APostGoesOutOnAFreshConnectionWhenTheIdleOneIsClosed) {
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient first = accept();
  warm_up(one, first);
  first.close();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
  RawClient second = accept();
  second.read_until("\r\n\r\n");
  EXPECT_EQ(second.read_exactly(2), "hi");
  second.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
}

TEST_F(Fault, AClientThatLeavesTakesTheUpstreamsConnectionWithIt) {
  start();
  auto [one, upstream] = begun();
  one.close();
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Fault, AClientThatLeavesInTheMiddleOfItsBodyTakesTheUpstreamsConnectionWithIt) {
  start();
  auto [one, upstream] = begun("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  one.close();
  EXPECT_EQ(upstream.read_all(), "abc");
}

TEST_F(Fault, AClientThatLeavesInTheMiddleOfAStreamTakesTheUpstreamsConnectionWithIt) {
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n");
  one.read_until("data: 1\n\n");
  one.close();
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Fault, AHeadThatDoesNotArriveInTimeIs408) {
  policy_.gateway->timeouts.header = kSoon;
  start();
  RawClient one = client();
  one.send("GET / HTTP/1.1\r\nHo");
  EXPECT_TRUE(says(one.read_all(), 408, "REQUEST_TIMEOUT"));
}

TEST_F(Fault, AnIdleConnectionIsClosedWithoutAWord) {
  policy_.gateway->timeouts.idle = kSoon;
  start();
  RawClient one = client();
  EXPECT_EQ(one.read_all(), "");
}

TEST_F(Fault, ABodyThatDoesNotArriveInTimeIs408) {
  policy_.gateway->timeouts.body = kSoon;
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  RawClient upstream = accept();
  EXPECT_TRUE(says(one.read_all(), 408, "REQUEST_TIMEOUT"));
  upstream.read_until("\r\n\r\n");
  EXPECT_EQ(upstream.read_all(), "abc");
}

TEST_F(Fault, AnUpstreamThatDoesNotAnswerInTimeIs504) {
  policy_.gateway->timeouts.response = kSoon;
  start();
  RawClient one = client();
  one.send(kGet);
  RawClient upstream = accept();
  EXPECT_TRUE(says(one.read_response(), 504, "UPSTREAM_TIMEOUT"));
  upstream.read_until("\r\n\r\n");
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Fault, AnUpstreamThatDoesNotSayInTimeWhetherItWantsTheBodyIs504) {
  policy_.gateway->timeouts.response = kSoon;
  start();
  const std::string put =
      "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  auto [one, upstream] = begun(put);
  EXPECT_TRUE(says(one.read_all(), 504, "UPSTREAM_TIMEOUT"));
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Fault, AClientThatDoesNotSendTheBodyThatIsWantedIs408) {
  policy_.gateway->timeouts.body = kSoon;
  start();
  auto [one, upstream] =
      begun("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(status_of(one.read_until("\r\n\r\n")), 100);
  EXPECT_TRUE(says(one.read_all(), 408, "REQUEST_TIMEOUT"));
}

TEST_F(Fault, AnUpstreamThatFallsSilentInItsBodyBreaksTheResponseOff) {
  policy_.gateway->timeouts.body = kSoon;
  start();
  auto [one, upstream] = begun();
  upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
  EXPECT_EQ(body_of(one.read_all()), "abc");
  EXPECT_TRUE(upstream.at_end());
}

TEST_F(Fault, AnUpstreamThatDoesNotAcceptInTimeIs504) {
  // A listener whose queue is full takes no further connection: the kernel drops what knocks.
  FileDescriptor full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(full.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  ::getsockname(full.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const RawClient filler(ntohs(address.sin_port));
  policy_.gateway->upstream.servers = {upstream("127.0.0.1", ntohs(address.sin_port))};
  policy_.gateway->timeouts.connect = kSoon;
  start();
  RawClient one = client();
  one.send(kGet);
  EXPECT_TRUE(says(one.read_response(), 504, "UPSTREAM_CONNECT_TIMEOUT"));
}

TEST_F(Fault, DrainLetsARequestInFlightFinishAndEndsItsConnection) {
  start();
  RawClient idle = client();
  RawClient busy = client();
  busy.send(kGet);
  RawClient upstream = accept();
  upstream.read_until("\r\n\r\n");
  std::promise<void> drained;
  gateway_->drain(std::chrono::seconds(10), [&] { drained.set_value(); });
  EXPECT_EQ(idle.read_all(), "") << "who idles is let go at once";
  upstream.send(kOk);
  const std::string answer = busy.read_all();
  EXPECT_EQ(body_of(answer), "ok");
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
  idle.close();
  busy.close();
  EXPECT_EQ(drained.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_FALSE(client().connected());
}

TEST_F(Fault, DrainGivesUpWhatIsNotDoneInTime) {
  start();
  RawClient busy = client();
  busy.send(kGet);
  RawClient upstream = accept();
  std::promise<void> drained;
  gateway_->drain(kSoon, [&] { drained.set_value(); });
  EXPECT_EQ(drained.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(busy.read_all(), "");
  EXPECT_EQ(gateway_->connections(), 0u);
}

}  // namespace
}  // namespace weir::gateway
