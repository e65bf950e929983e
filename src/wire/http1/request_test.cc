// RequestParser: what is read, what is refused with which status, and that cutting changes nothing.

#include "wire/http1/request.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http1 {
namespace {

constexpr std::string_view kBrowserGet =
    "GET /a/b?x=1&y HTTP/1.1\r\n"
    "Host: example.test:8080\r\n"
    "Accept:text/html \t\r\n"
    "X-Empty:\r\n"
    "\r\n";

struct Outcome {
  Progress progress = Progress::kNeedMore;
  int status = 0;
  std::string message;
  std::uint32_t consumed = 0;
};

Outcome parse_whole(std::string_view text, const Limits& limits = {}) {
  RequestParser parser(limits);
  const Progress progress = parser.parse(text);
  if (progress != Progress::kError) return {progress, 0, "", parser.consumed()};
  return {progress, parser.error().status, std::string(parser.error().message), 0};
}

// The same, one byte more at a time, each time in another buffer.
Outcome parse_bytewise(std::string_view text, const Limits& limits = {}) {
  RequestParser parser(limits);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string copy(text.substr(0, size));
    const Progress progress = parser.parse(copy);
    if (progress == Progress::kNeedMore) continue;
    if (progress == Progress::kComplete) return {progress, 0, "", parser.consumed()};
    return {progress, parser.error().status, std::string(parser.error().message), 0};
  }
  return {};
}

std::string get_with(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: a.test\r\n" + std::string(fields) + "\r\n";
}

TEST(RequestParser, ReadsTheLineTheHostAndTheHeaders) {
  RequestParser parser;
  ASSERT_EQ(parser.parse(kBrowserGet), Progress::kComplete);
  const RequestHead& head = parser.head();
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.target, "/a/b?x=1&y");
  EXPECT_EQ(head.path, "/a/b");
  EXPECT_EQ(head.query, "x=1&y");
  EXPECT_EQ(head.host, "example.test:8080");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_EQ(head.body.kind, Body::Kind::kNone);
  ASSERT_EQ(head.headers.size(), 3u);
  EXPECT_EQ(head.headers[1].value, "text/html");
  EXPECT_EQ(head.headers[2].value, "");
  EXPECT_EQ(parser.consumed(), kBrowserGet.size());
}

TEST(RequestParser, SaysTheSameWholeAndByteByByte) {
  const std::string next = std::string(kBrowserGet) + "GET /next";
  EXPECT_EQ(parse_whole(next).consumed, kBrowserGet.size());
  EXPECT_EQ(parse_bytewise(next).consumed, kBrowserGet.size());
}

struct Refusal {
  std::string request;
  int status;
};

TEST(RequestParser, RefusesEverySmugglingForm) {
  const Refusal cases[] = {
      {get_with("Content-Length: 1\r\nContent-Length: 1\r\n"), 400},
      {get_with("Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
      {get_with("Content-Length: 1, 1\r\n"), 400},
      {get_with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
      {get_with("Transfer-Encoding: chunked\r\ncontent-length: 1\r\n"), 400},
      {get_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {get_with("Transfer-Encoding: chunked, chunked\r\n"), 400},
      {get_with("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {get_with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {get_with("Transfer-Encoding: identity\r\n"), 400},
      {get_with("Transfer-Encoding: xchunked\r\n"), 400},
      {get_with("Transfer-Encoding: chunked;q=1\r\n"), 400},
      {get_with("Transfer-Encoding: \"chunked\"\r\n"), 400},
      {get_with("Transfer-Encoding: chunked,\r\n"), 400},
      {get_with("Transfer-Encoding:\r\n"), 400},
      {get_with("Transfer-Encoding: chun\x01ked\r\n"), 400},
      {get_with("Transfer-Encoding\x0b: chunked\r\n"), 400},
      {get_with("Transfer-Encoding : chunked\r\n"), 400},
      {get_with("X: a\r\n b\r\n"), 400},
      {get_with("X: a\r\n\tTransfer-Encoding: chunked\r\n"), 400},
      {get_with(" X: a\r\n"), 400},
      {get_with("X: a\nTransfer-Encoding: chunked\r\n"), 400},
      {get_with("X: a\rTransfer-Encoding: chunked\r\n"), 400},
      {get_with("X: a\r\r\n"), 400},
      {get_with(std::string_view("X: a\0b\r\n", 8)), 400},
      {get_with("X: a\x7f\r\n"), 400},
      {get_with(": a\r\n"), 400},
      {get_with("X\r\n"), 400},
      {get_with("X(): a\r\n"), 400},
      {get_with("X\xc3\xa4: a\r\n"), 400},
      {get_with("Content-Length: +1\r\n"), 400},
      {get_with("Content-Length: -1\r\n"), 400},
      {get_with("Content-Length: 1 1\r\n"), 400},
      {get_with("Content-Length: 0x1\r\n"), 400},
      {get_with("Content-Length: 1.0\r\n"), 400},
      {get_with("Content-Length:\r\n"), 400},
      {get_with("Content-Length: 9223372036854775808\r\n"), 400},
      {get_with("Content-Length: 18446744073709551617\r\n"), 400},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
  };
  for (const Refusal& refusal : cases) {
    const Outcome whole = parse_whole(refusal.request);
    const Outcome bytewise = parse_bytewise(refusal.request);
    EXPECT_EQ(whole.progress, Progress::kError) << refusal.request;
    EXPECT_EQ(whole.status, refusal.status) << refusal.request << whole.message;
    EXPECT_EQ(bytewise.status, whole.status) << refusal.request;
    EXPECT_EQ(bytewise.message, whole.message) << refusal.request;
  }
}

}  // namespace
}  // namespace weir::http1
