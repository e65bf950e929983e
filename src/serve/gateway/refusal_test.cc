// Requests that the gateway answers by itself: refused, not HTTP, or not to be trusted.

#include <set>

#include "support/gateway_fixture.h"

namespace weir::gateway {
namespace {

class Refusal : public GatewayTest {};

// The value of a line of that name.
std::string value_of(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

TEST_F(Refusal, TheRequestPastTheLimitIs429AndNeverReachesTheUpstream) {
  limit_all(1);
  start();
  auto [one, upstream] = begun();
  upstream.send(kOk);
  const std::string first = one.read_response();
  EXPECT_EQ(status_of(first), 200);
  EXPECT_TRUE(contains(first, "X-RateLimit-Limit: 1\r\n"));
  EXPECT_TRUE(contains(first, "X-RateLimit-Remaining: 0\r\n"));
  EXPECT_FALSE(contains(first, "Retry-After"));
  one.send(kGet);
  const std::string second = one.read_response();
  EXPECT_EQ(status_of(second), 429);
  EXPECT_TRUE(contains(second, "Retry-After: 3600\r\n"));
  EXPECT_TRUE(contains(second, "Content-Type: application/json\r\n"));
  EXPECT_TRUE(contains(body_of(second), "\"code\":\"RATE_LIMITED\""));
  EXPECT_EQ(metric("weir_requests_total{listener=\"gateway\",outcome=\"denied\"}"), 1u);
}

TEST_F(Refusal, ARefusedHeadRequestGetsNoBody) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + kGet);
  const std::string head = one.read_until("\r\n\r\n");
  EXPECT_EQ(status_of(head), 429);
  EXPECT_EQ(status_of(one.read_response()), 429) << "the next answer follows at once";
}

TEST_F(Refusal, APipelineOfRefusalsIsAnsweredInOneGo) {
  limit_all(0);
  start();
  RawClient one = client();
  std::string batch;
  for (int i = 0; i < 500; ++i) batch += kGet;
  one.send(batch);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(status_of(one.read_response()), 429);
}

TEST_F(Refusal, TheBodyOfARefusedRequestIsNotTheNextRequest) {
  limit_all(0);
  start();
  RawClient one = client();
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(smuggled.size()) +
           "\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 429);
  one.send(smuggled + "BROKEN\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 400) << "what follows the body is read as a request";
}

TEST_F(Refusal, TheChunkedBodyOfARefusedRequestIsReadPast) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
  EXPECT_EQ(status_of(one.read_response()), 429);
  one.send("cde\r\n0\r\nT: 1\r\n\r\n" + kGet);
  EXPECT_EQ(status_of(one.read_response()), 429);
}

TEST_F(Refusal, ALargeUploadThatIsRefusedReadsItsAnswerBeforeTheConnectionEnds) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(one.send(block)) << "nobody resets the connection";
  const std::string answer = one.read_all();
  EXPECT_EQ(status_of(answer), 429);
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
}

TEST_F(Refusal, AnEndlessChunkedUploadIsReadPastUpToABound) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 429);
  const std::string block(64 * 1024, 'x');
  for (int i = 0; i < 8; ++i) one.send("10000\r\n" + block + "\r\n");
  EXPECT_TRUE(one.at_end()) << "our side is closed after 256 KiB";
}

TEST_F(Refusal, WhoWaitsFor100IsRefusedWithoutItAndTheConnectionEnds) {
  limit_all(0);
  start();
  RawClient one = client();
  one.send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  const std::string answer = one.read_all();
  EXPECT_EQ(status_of(answer), 429);
  EXPECT_TRUE(contains(answer, "Connection: close\r\n"));
}

TEST_F(Refusal, SmugglingFormsAre400AndTheConnectionEnds) {
  start();
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const std::string forms[] = {
      head + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
      head + "Content-Length: 3, 3\r\n\r\nabc",
      head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: gzip, chunked\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      head + "X: a\r\n b\r\n\r\n",
      head + "X : a\r\n\r\n",
      "GET / HTTP/1.1\nHost: h\n\n",
      head + "X: a\rb\r\n\r\n",
      head + "Content-Length: +3\r\n\r\nabc",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
  };
  for (const std::string& form : forms) {
    RawClient one = client();
    one.send(form + kGet);
    const std::string answer = one.read_all();
    EXPECT_TRUE(status_of(answer) == 400 || status_of(answer) == 501) << form << answer;
    EXPECT_TRUE(contains(answer, "Connection: close\r\n")) << form;
    EXPECT_TRUE(contains(answer, "\"code\":\"BAD_REQUEST\"")) << form;
    EXPECT_EQ(value_of(answer, "X-Request-Id").size(), 32u) << answer;
    EXPECT_FALSE(contains(answer, "}HTTP/1.1")) << "one answer only: " << form;
  }
  EXPECT_TRUE(nobody_connects());
}

TEST_F(Refusal, ABadChunkSizeIs400AndTheUpstreamGetsNoEndOfTheBody) {
  start();
  auto [one, upstream] =
      begun("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_EQ(upstream.read_until("abc\r\n"), "3\r\nabc\r\n");
  one.send("-1\r\n");
  EXPECT_EQ(status_of(one.read_all()), 400);
  EXPECT_EQ(upstream.read_all(), "");
}

TEST_F(Refusal, HeadsOverTheBoundsAre431And414) {
  policy_.gateway->max_header_bytes = 32 * 1024;
  policy_.gateway->max_headers = 5;
  start();
  RawClient large = client();
  large.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(40000, 'a') + "\r\n\r\n");
  EXPECT_EQ(status_of(large.read_all()), 431);
  RawClient many = client();
  many.send("GET / HTTP/1.1\r\nHost: h\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\n\r\n");
  EXPECT_EQ(status_of(many.read_all()), 431);
  RawClient target = client();
  target.send("GET /" + std::string(20000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(status_of(target.read_all()), 414);
}

TEST_F(Refusal, APathThatIsNoneIs400AndTheConnectionGoesOn) {
  start();
  RawClient one = client();
  one.send("GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 400);
  one.send(kGet);
  EXPECT_TRUE(accept().connected());
}

TEST_F(Refusal, IdentityHeadersOfUntrustedClientsAreNotBelieved) {
  policy::Limit limit;
  limit.name = "per_ip";
  limit.numbers = {TokenBucket{Rate{1, std::chrono::hours(1)}, 1}};
  limit.key = {{{policy::Attribute{policy::Attribute::Kind::kIp, ""}}}};
  policy_.limits.push_back(limit);
  start();
  auto [one, upstream] = begun("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n");
  upstream.send(kOk);
  one.read_response();
  one.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.2\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 429);
}

TEST_F(Refusal, ATrustedProxyNamesItsClients) {
  policy_.identity.trusted_proxies = {*IpPrefix::parse("127.0.0.0/8")};
  policy::Limit limit;
  limit.name = "per_ip";
  limit.numbers = {TokenBucket{Rate{1, std::chrono::hours(1)}, 1}};
  limit.key = {{{policy::Attribute{policy::Attribute::Kind::kIp, ""}}}};
  policy_.limits.push_back(limit);
  start();
  RawClient one = client();
  one.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n");
  RawClient upstream = accept();
  EXPECT_TRUE(
      contains(upstream.read_until("\r\n\r\n"), "X-Forwarded-For: 203.0.113.1, 127.0.0.1\r\n"));
  upstream.send(kOk);
  one.read_response();
  exchange(one, upstream, "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.2\r\n\r\n", kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
  one.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.2\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 429);
}

TEST_F(Refusal, ARepeatedIdentityHeaderIs400) {
  start();
  RawClient one = client();
  one.send("GET / HTTP/1.1\r\nHost: h\r\nX-User-Id: a\r\nX-User-Id: b\r\n\r\n");
  EXPECT_EQ(status_of(one.read_response()), 400);
}

const std::string kFromPage = "GET /a HTTP/1.1\r\nHost: h\r\nOrigin: https://example.org\r\n\r\n";

TEST_F(Refusal, APageOfAnOriginThatThePolicyNamesMayReadIt) {
  limit_all(0);
  policy_.response.cors.origins = {"https://example.org"};
  start();
  RawClient one = client();
  one.send(kFromPage);
  const std::string answer = one.read_response();
  EXPECT_EQ(status_of(answer), 429);
  EXPECT_TRUE(contains(answer, "\r\nVary: Origin\r\n"));
  EXPECT_TRUE(contains(answer, "\r\nAccess-Control-Allow-Origin: https://example.org\r\n"));
  EXPECT_TRUE(contains(answer, "\r\nAccess-Control-Allow-Credentials: true\r\n"));
  EXPECT_TRUE(contains(answer, "\r\nAccess-Control-Expose-Headers: Retry-After, RateLimit, "));
}

// A shared cache must not give it to a page whose origin was never looked at.
TEST_F(Refusal, WhatIsNoRequestIsAnsweredWithAnIdAndVaries) {
  policy_.response.cors.any_origin = true;
  policy_.gateway->timeouts.header = std::chrono::milliseconds(50);
  start();
  std::set<std::string> ids;
  for (const char* text :
       {"no request\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:"}) {
    RawClient one = client();
    one.send(text);
    const std::string answer = one.read_all();
    EXPECT_GE(status_of(answer), 400) << answer;
    EXPECT_TRUE(contains(answer, "\r\nVary: Origin\r\n")) << answer;
    EXPECT_FALSE(contains(answer, "Access-Control")) << answer;
    ids.insert(value_of(answer, "X-Request-Id"));
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_FALSE(ids.contains(""));
}

TEST_F(Refusal, AnotherOriginIsToldNothingButThatAnswersVary) {
  limit_all(0);
  policy_.response.cors.origins = {"https://example.org"};
  start();
  RawClient one = client();
  for (const std::string& origin : {std::string("Origin: https://example.org.evil.test\r\n"),
                                    std::string("Origin: null\r\n"), std::string(),
                                    std::string("Origin: https://example.org\r\n"
                                                "Origin: https://example.org\r\n")}) {
    one.send("GET /a HTTP/1.1\r\nHost: h\r\n" + origin + "\r\n");
    const std::string answer = one.read_response();
    EXPECT_EQ(status_of(answer), 429);
    EXPECT_TRUE(contains(answer, "\r\nVary: Origin\r\n")) << origin;
    EXPECT_FALSE(contains(answer, "Access-Control-")) << origin;
  }
}

TEST_F(Refusal, EchoAdmitsEveryPlainOriginAndNoLongOne) {
  limit_all(0);
  policy_.response.cors.any_origin = true;
  start();
  RawClient one = client();
  const auto asked = [&one](const std::string& origin) {
    one.send("GET /a HTTP/1.1\r\nHost: h\r\nOrigin: " + origin + "\r\n\r\n");
    return one.read_response();
  };
  EXPECT_TRUE(contains(asked("null"), "Access-Control-Allow-Origin: null\r\n"));
  EXPECT_TRUE(contains(asked("http://a:1"), "Access-Control-Allow-Origin: http://a:1\r\n"));
  EXPECT_FALSE(contains(asked("a b"), "Access-Control-"));
  EXPECT_FALSE(contains(asked(std::string(513, 'a')), "Access-Control-"));
}

TEST_F(Refusal, FaultsCanBeReadByAPageTooAndAnUpstreamsAnswerIsItsOwn) {
  policy_.response.cors.any_origin = true;
  start();
  auto [one, upstream] = begun(kFromPage);
  upstream.send(kOk);
  EXPECT_FALSE(contains(one.read_response(), "Access-Control-"));
  one.send(kFromPage);
  upstream.read_until("\r\n\r\n");
  upstream.close();
  stop_upstream();
  const std::string fault = one.read_response();
  EXPECT_EQ(status_of(fault), 502);
  EXPECT_TRUE(contains(fault, "Access-Control-Allow-Origin: https://example.org\r\n"));
}

TEST_F(Refusal, WhatIsNoRequestIsAnsweredWithoutTheHeadersOfTheOneBefore) {
  limit_all(0);
  policy_.response.cors.any_origin = true;
  start();
  RawClient one = client();
  one.send(kFromPage);
  EXPECT_TRUE(contains(one.read_response(), "Access-Control-"));
  one.send("BROKEN\r\n\r\n");
  const std::string answer = one.read_response();
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_FALSE(contains(answer, "Access-Control-"));
  EXPECT_FALSE(contains(answer, "X-RateLimit"));
}

TEST_F(Refusal, EveryRequestHasAnIdThatTheUpstreamAndARefusedClientAreTold) {
  limit_all(1);
  start();
  RawClient one = client();
  const std::string sent = "GET /a HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine\r\n\r\n";
  one.send(sent);
  RawClient upstream = accept();
  const std::string first = value_of(upstream.read_until("\r\n\r\n"), "X-Request-Id");
  upstream.send(kOk);
  EXPECT_EQ(value_of(one.read_response(), "X-Request-Id"), "") << "an upstream's answer is its own";
  one.send(sent);
  const std::string second = value_of(one.read_response(), "X-Request-Id");
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(second.size(), 32u);
  EXPECT_NE(first, second);
  EXPECT_NE(second, "mine") << "nobody vouches for it";
}

TEST_F(Refusal, AnIdOfATrustedProxysIsPassedOnWhereItIsOne) {
  limit_all(0);
  policy_.identity.trusted_proxies = {*IpPrefix::parse("127.0.0.0/8")};
  start();
  RawClient one = client();
  const auto told = [&one](const std::string& lines) {
    one.send("GET /a HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n");
    return value_of(one.read_response(), "X-Request-Id");
  };
  EXPECT_EQ(told("X-Request-ID: 7f/9-a\r\n"), "7f/9-a");
  EXPECT_EQ(told("X-Request-ID: a b\r\n").size(), 32u);
  EXPECT_EQ(told("X-Request-ID: a\r\nX-Request-ID: a\r\n").size(), 32u);
  EXPECT_EQ(told("X-Request-ID: " + std::string(129, 'a') + "\r\n").size(), 32u);
}

TEST_F(Refusal, AConnectionFieldListsSixtyFourNamesAndNoMore) {
  start();
  std::string list;
  for (int i = 0; i < 31; ++i) list += "a,";
  const std::string request = "GET /a HTTP/1.1\r\nHost: h\r\na: 1\r\nConnection: " + list +
                              "a\r\nConnection: " + list + "a";
  auto [one, upstream] = begun(request + "\r\n\r\n");
  upstream.send(kOk);
  EXPECT_EQ(status_of(one.read_response()), 200);
  one.send(request + ",\r\n\r\n" + kGet);
  const std::string answer = one.read_response();
  EXPECT_EQ(status_of(answer), 400);
  EXPECT_TRUE(contains(answer, "connection lists more than 64 names"));
  EXPECT_TRUE(contains(upstream.read_until("\r\n\r\n"), "GET /a")) << "the next one passes";
}

}  // namespace
}  // namespace weir::gateway
