#include "serve/gateway/forwarded_head.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::gateway {
namespace {

std::string forward(const std::string& bytes, const RequestContext& context) {
  http1::RequestParser parser;
  if (parser.parse(bytes) != http1::Progress::kComplete) return "not a request";
  std::string out;
  append_request_head(out, parser.head(), bytes.data() + parser.consumed(), context);
  return out;
}

std::string forward(const std::string& bytes, bool trusted = false) {
  RequestContext context;
  context.path = "/a";
  context.peer = "192.0.2.7";
  context.peer_trusted = trusted;
  context.upstream = "127.0.0.1:3000";
  return forward(bytes, context);
}

std::string answer(const std::string& bytes, const ResponseContext& context = {},
                   bool to_head = false) {
  http1::ResponseParser parser;
  if (parser.parse(bytes, to_head) != http1::Progress::kComplete) return "not a response";
  std::string out;
  append_response_head(out, parser.head(), bytes.data() + parser.consumed(), context);
  return out;
}

TEST(ForwardedHead, CopiesWhatIsTheMessagesAndSaysWhereItCameFrom) {
  EXPECT_EQ(forward("GET /a?q=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nX-One: 1\r\n\r\n"),
            "GET /a?q=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\nX-One: 1\r\n"
            "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\n"
            "X-Forwarded-Host: a.example\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedHead, SendsThePathInNormalFormAndAnEmptyQueryAsSent) {
  RequestContext context;
  context.path = "/normal";
  context.peer = "::1";
  EXPECT_EQ(forward("GET /x/../normal? HTTP/1.1\r\nHost: h\r\n\r\n", context).substr(0, 25),
            "GET /normal? HTTP/1.1\r\nHo");
}

TEST(ForwardedHead, SaysTheIdThatTheGatewayHasForTheRequestInPlaceOfTheClients) {
  RequestContext context;
  context.path = "/a";
  context.peer = "192.0.2.7";
  context.request_id = "made";
  const std::string sent =
      "GET / HTTP/1.1\r\nHost: h\r\nX-REQUEST-ID: a\r\nx-request-id: b\r\n"
      "traceparent: 00-x\r\ntracestate: y\r\n\r\n";
  EXPECT_EQ(forward(sent, context),
            "GET /a HTTP/1.1\r\nHost: h\r\ntraceparent: 00-x\r\ntracestate: y\r\n"
            "X-Forwarded-For: 192.0.2.7\r\nX-Request-Id: made\r\nX-Forwarded-Proto: http\r\n"
            "X-Forwarded-Host: h\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedHead, LeavesOutWhatBelongsToTheConnection) {
  const std::string out = forward(
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, X-Mine\r\nKeep-Alive: 5\r\n"
      "X-Mine: 1\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: x\r\nTE: gzip\r\n"
      "Upgrade: h2c\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(out,
            "GET /a HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nX-Forwarded-For: 192.0.2.7\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedHead, AConnectionFieldCannotTakeOutFramingOrHost) {
  const std::string out = forward(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: Content-Length, Host, Cookie\r\n"
      "Content-Length: 3\r\nCookie: a=b\r\n\r\nabc");
  EXPECT_NE(out.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_NE(out.find("Host: h\r\n"), std::string::npos);
  EXPECT_NE(out.find("Cookie: a=b\r\n"), std::string::npos);
}

TEST(ForwardedHead, FromAnybodyWhatSaysWhereItCameFromIsReplaced) {
  const std::string out = forward(
      "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6\r\nx-forwarded-proto: https\r\n"
      "X-Forwarded-Host: evil\r\nX-Forwarded-Prefix: /p\r\nForwarded: for=6.6.6.6\r\n"
      "X-Real-IP: 6.6.6.6\r\n\r\n");
  EXPECT_EQ(out,
            "GET /a HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.7\r\n"
            "X-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedHead, FromATrustedProxyItIsKeptAndContinued) {
  const std::string out = forward(
      "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 10.0.0.1\r\n"
      "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop\r\nForwarded: for=203.0.113.9\r\n\r\n",
      true);
  EXPECT_EQ(out,
            "GET /a HTTP/1.1\r\nHost: h\r\nForwarded: for=203.0.113.9\r\n"
            "X-Forwarded-For: 203.0.113.9, 10.0.0.1, 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
            "X-Forwarded-Host: shop\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedHead, FramesAChunkedBodyAnewAndKeepsTheNamesOfItsTrailers) {
  const std::string out = forward(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\nTrailer: X-Sum\r\n"
      "TE: trailers\r\n\r\n");
  EXPECT_NE(out.find("Trailer: X-Sum\r\n"), std::string::npos);
  EXPECT_NE(out.find("\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\n\r\n"),
            std::string::npos);
}

TEST(ForwardedHead, PassesTheWishForWebSocketOnOnlyWhenTold) {
  const std::string bytes =
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_EQ(forward(bytes).find("Upgrade"), std::string::npos);
  RequestContext context;
  context.path = "/";
  context.upgrade = true;
  EXPECT_NE(forward(bytes, context).find("Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
            std::string::npos);
}

TEST(ForwardedHead, AnAbsoluteTargetsHostTakesThePlaceOfHost) {
  const std::string out =
      forward("GET http://real.example/a HTTP/1.1\r\nHost: other.example\r\n\r\n");
  EXPECT_EQ(out.substr(0, 41), "GET /a HTTP/1.1\r\nHost: real.example\r\nX-Fo");
}

TEST(ForwardedHead, AnOldRequestWithoutHostGetsTheUpstreams) {
  const std::string out = forward("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(out.find("HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n"), std::string::npos);
  EXPECT_NE(out.find("Via: 1.0 weir\r\n"), std::string::npos);
  EXPECT_EQ(out.find("X-Forwarded-Host"), std::string::npos);
}

TEST(ForwardedResponse, CopiesStatusReasonAndFields) {
  EXPECT_EQ(answer("HTTP/1.1 299 Just So\r\nContent-Length: 0\r\nX-A:b  \r\n\r\n"),
            "HTTP/1.1 299 Just So\r\nContent-Length: 0\r\nX-A:b  \r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedResponse, LeavesOutWhatBelongsToTheConnection) {
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n"
                   "Transfer-Encoding: chunked\r\nUpgrade: h2c\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ForwardedResponse, OurRateFieldsReplaceTheUpstreams) {
  ResponseContext context;
  context.rate_headers = "RateLimit: \"a\";r=3\r\n";
  EXPECT_EQ(answer("HTTP/1.1 200 OK\r\nRateLimit-Remaining: 7\r\nratelimit: x\r\n"
                   "X-RateLimit-Limit: 9\r\nRateLimited: no\r\n\r\n",
                   context),
            "HTTP/1.1 200 OK\r\nRateLimited: no\r\nVia: 1.1 weir\r\nRateLimit: \"a\";r=3\r\n\r\n");
}

TEST(ForwardedResponse, WithoutOursTheUpstreamsRateFieldsPass) {
  EXPECT_NE(answer("HTTP/1.1 200 OK\r\nRateLimit-Remaining: 7\r\n\r\n").find("Remaining: 7"),
            std::string::npos);
}

TEST(ForwardedResponse, SaysHowTheClientsConnectionGoesOn) {
  ResponseContext close;
  close.close = true;
  EXPECT_NE(answer("HTTP/1.1 200 OK\r\n\r\n", close).find("Connection: close\r\n"),
            std::string::npos);
  ResponseContext keep;
  keep.keep_alive_1_0 = true;
  EXPECT_NE(answer("HTTP/1.1 200 OK\r\n\r\n", keep).find("Connection: keep-alive\r\n"),
            std::string::npos);
}

TEST(ForwardedResponse, ASwitchOfProtocolsNamesTheProtocol) {
  EXPECT_EQ(answer("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                   "Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"),
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nVia: 1.1 weir\r\n"
            "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n");
}

}  // namespace
}  // namespace weir::gateway
