// RequestParser: what is read, what is refused with which status, and that cutting changes nothing.

#include "wire/http1/request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/test_random.h"

namespace weir::http1 {
namespace {

using wire_test::Random;

struct Outcome {
  Progress progress = Progress::kNeedMore;
  int status = 0;
  std::string message;
  std::uint32_t consumed = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome(const RequestParser& parser, Progress progress) {
  if (progress == Progress::kNeedMore) return {};
  if (progress == Progress::kComplete) return {progress, 0, "", parser.consumed()};
  return {progress, parser.error().status, std::string(parser.error().message), 0};
}

Outcome parse_whole(std::string_view text, const Limits& limits = {}) {
  RequestParser parser(limits);
  return outcome(parser, parser.parse(text));
}

// The same, `step` bytes more at a time, each time in another buffer.
Outcome parse_in_steps(std::string_view text, std::size_t step, const Limits& limits = {}) {
  RequestParser parser(limits);
  for (std::size_t size = 0;; size = std::min(text.size(), size + step)) {
    const std::vector<char> copy(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    const Progress progress = parser.parse({copy.data(), copy.size()});
    if (progress != Progress::kNeedMore || size == text.size()) return outcome(parser, progress);
  }
}

void expect_refused(const std::string& request, int status, const Limits& limits = {}) {
  const Outcome whole = parse_whole(request, limits);
  EXPECT_EQ(whole.progress, Progress::kError) << request;
  EXPECT_EQ(whole.status, status) << request << whole.message;
  EXPECT_EQ(parse_in_steps(request, 1, limits), whole) << request;
}

std::string get_with(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: a.test\r\n" + std::string(fields) + "\r\n";
}

std::string with_line(std::string_view line) {
  return std::string(line) + "\r\nHost: a.test\r\n\r\n";
}

std::string with_host(std::string_view host) {
  return "GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n";
}

// Parses a right request and keeps its bytes for the views of its head.
class Parsed {
 public:
  explicit Parsed(std::string text) : text_(std::move(text)) {
    EXPECT_EQ(parser_.parse(text_), Progress::kComplete)
        << text_ << (parser_.error().message.empty() ? "" : parser_.error().message);
  }
  const RequestHead* operator->() const { return &parser_.head(); }
  const RequestParser& parser() const { return parser_; }

 private:
  std::string text_;
  RequestParser parser_;
};

TEST(RequestParser, ReadsTheLineTheHostAndTheHeaders) {
  const std::string text =
      "GET /a/b?x=1&y HTTP/1.1\r\nHost: example.test:8080\r\nAccept:text/html "
      "\t\r\nX-Empty:\r\n\r\n";
  const Parsed head(text + "GET /next");
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->target, "/a/b?x=1&y");
  EXPECT_EQ(head->path, "/a/b");
  EXPECT_EQ(head->query, "x=1&y");
  EXPECT_EQ(head->host, "example.test:8080");
  EXPECT_EQ(head->minor_version, 1);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_EQ(head->body.kind, Body::Kind::kNone);
  ASSERT_EQ(head->headers.size(), 3u);
  EXPECT_EQ(head->headers[1].name, "Accept");
  EXPECT_EQ(head->headers[1].value, "text/html");
  EXPECT_EQ(head->headers[2].value, "");
  EXPECT_EQ(head.parser().consumed(), text.size());
}

TEST(RequestParser, RefusesEveryFormOfTwoLengths) {
  for (const std::string_view fields :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Content-Length: 1, 1\r\n", "Content-Length: 1,2\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\ncontent-length: 0\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n"}) {
    expect_refused(get_with(fields), 400);
  }
}

TEST(RequestParser, RefusesLengthsThatAreNotOnePlainNumber) {
  for (const std::string_view length :
       {"+1", "-1", "1 1", "0x1", "1.0", "", "1e3", "a", "1\t2", "9223372036854775808",
        "18446744073709551617", "99999999999999999999999999999999"}) {
    expect_refused(get_with("Content-Length: " + std::string(length) + "\r\n"), 400);
  }
}

TEST(RequestParser, RefusesEveryTransferEncodingButChunked) {
  for (const std::string_view coding :
       {"chunked, chunked", "chunked, gzip", "identity", "xchunked", "chunkedx", "chunked;q=1",
        "\"chunked\"", "chunked,", ",chunked", "", "identity, chunked", "chunked identity",
        "gzip"}) {
    expect_refused(get_with("Transfer-Encoding: " + std::string(coding) + "\r\n"), 400);
  }
  expect_refused(get_with("Transfer-Encoding: gzip, chunked\r\n"), 501);
  expect_refused(get_with("Transfer-Encoding: x-gzip , Chunked\r\n"), 501);
  expect_refused("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

TEST(RequestParser, RefusesLinesThatAnotherReaderMightReadDifferently) {
  for (const std::string& fields :
       std::vector<std::string>{"X: a\r\n b\r\n",
                                "X: a\r\n\tTransfer-Encoding: chunked\r\n",
                                " X: a\r\n",
                                "X: a\nTransfer-Encoding: chunked\r\n",
                                "X: a\rTransfer-Encoding: chunked\r\n",
                                "X: a\r\r\n",
                                "\nX: a\r\n",
                                "\rX: a\r\n",
                                std::string("X: a\0b\r\n", 8),
                                std::string("X\0: a\r\n", 7),
                                "X: a\x7f\r\n",
                                "X: a\x01\r\n",
                                "X: a\x1b[0m\r\n",
                                ": a\r\n",
                                "X\r\n",
                                "X : a\r\n",
                                "X\t: a\r\n",
                                "X(): a\r\n",
                                "X,Y: a\r\n",
                                "X\xc3\xa4: a\r\n",
                                "Transfer-Encoding : chunked\r\n",
                                "Transfer-Encoding\x0b: chunked\r\n",
                                "Transfer-Encoding: chun\x01ked\r\n"}) {
    expect_refused(get_with(fields), 400);
  }
  expect_refused("GET / HTTP/1.1\nHost: a.test\n\n", 400);
  expect_refused("GET / HTTP/1.1\r\nHost: a.test\r\n\n", 400);
  expect_refused("GET / HTTP/1.1\r\n Host: a.test\r\n\r\n", 400);
}

TEST(RequestParser, RefusesWrongRequestLines) {
  for (const std::string_view line : {"GET  / HTTP/1.1",
                                      "GET /  HTTP/1.1",
                                      " GET / HTTP/1.1",
                                      "GET\t/ HTTP/1.1",
                                      "GET / HTTP/1.1 ",
                                      "GET /",
                                      "GET",
                                      "/ HTTP/1.1",
                                      "G@T / HTTP/1.1",
                                      "GET / http/1.1",
                                      "GET / HTTP/1.",
                                      "GET / HTTP/11",
                                      "GET / HTTP/1.1.1",
                                      "GET / HTP/1.1",
                                      "GET / HTTP/x.1",
                                      "GET /a b HTTP/1.1",
                                      "GET a HTTP/1.1",
                                      "GET /a#b HTTP/1.1",
                                      "GET /a\x7f HTTP/1.1",
                                      "GET /\xc3\xa4 HTTP/1.1",
                                      "GET /a\tb HTTP/1.1",
                                      "GET * HTTP/1.1",
                                      "GET a.test:80 HTTP/1.1",
                                      "CONNECT a.test:443 HTTP/1.1",
                                      "CONNECT / HTTP/1.1",
                                      "GET ftp://a/ HTTP/1.1",
                                      "GET http:///a HTTP/1.1",
                                      "GET http://u@a/ HTTP/1.1",
                                      "GET http://a:b/ HTTP/1.1",
                                      "GET ://a/ HTTP/1.1"}) {
    expect_refused(with_line(line), 400);
  }
  expect_refused(std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), 400);
}

TEST(RequestParser, RefusesOtherVersionsAndUnknownLongMethodsWithTheirOwnStatus) {
  expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  expect_refused(with_line("GET / HTTP/1.2"), 505);
  expect_refused(with_line("GET / HTTP/0.9"), 505);
  expect_refused(with_line(std::string(33, 'A') + " / HTTP/1.1"), 501);
  EXPECT_EQ(Parsed(with_line(std::string(32, 'A') + " / HTTP/1.1"))->method.size(), 32u);
}

TEST(RequestParser, TellsATlsHelloFromARequestAtItsFirstByte) {
  expect_refused("\x16", 400);
}

TEST(RequestParser, WantsOneValidHost) {
  expect_refused("GET / HTTP/1.1\r\n\r\n", 400);
  expect_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
  expect_refused("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400);
  for (const std::string_view host :
       {"",    "a b",  "a/b",  "u@a",      "a:b",  "a:65536", "a:1:2", "a,b",
        ":80", "[::1", "[]",   "[::1]80",  "[g]",  "x[::1]",  "a?b",   "a#b",
        "a%",  "a%2",  "a%zz", "\xc3\xa4", "a:+1", "a\\b",    "<a>"}) {
    expect_refused(with_host(host), 400);
  }
  for (const std::string_view host : {"a", "a.test", "a.test.", "A-b_c~1", "192.0.2.1:80", "a:",
                                      "a:0", "a:65535", "[::1]", "[2001:db8::1]:443", "a%41"}) {
    EXPECT_EQ(Parsed(with_host(host))->host, host);
  }
}

TEST(RequestParser, ReadsAnAbsoluteTargetAsItsPathAndItsHost) {
  const struct {
    std::string_view line;
    std::string_view path;
    std::string_view query;
    std::string_view host;
  } cases[] = {
      {"GET http://b.test/x?y=/z HTTP/1.1", "/x", "y=/z", "b.test"},
      {"GET HTTPS://b.test:1 HTTP/1.1", "/", "", "b.test:1"},
      {"GET http://[::1]:8?q HTTP/1.1", "/", "q", "[::1]:8"},
      {"OPTIONS http://b.test HTTP/1.1", "*", "", "b.test"},
      {"OPTIONS http://b.test/ HTTP/1.1", "/", "", "b.test"},
  };
  for (const auto& c : cases) {
    const Parsed head(with_line(c.line));
    EXPECT_EQ(head->form, TargetForm::kAbsolute);
    EXPECT_EQ(head->path, c.path) << c.line;
    EXPECT_EQ(head->query, c.query) << c.line;
    EXPECT_EQ(head->host, c.host) << c.line;
  }
  expect_refused("GET http://b.test/ HTTP/1.1\r\n\r\n", 400);  // Host is still wanted
}

TEST(RequestParser, ReadsTheAsteriskOfOptions) {
  const Parsed head(with_line("OPTIONS * HTTP/1.1"));
  EXPECT_EQ(head->form, TargetForm::kAsterisk);
  EXPECT_EQ(head->path, "*");
}

TEST(RequestParser, TellsAnEmptyQueryFromNone) {
  EXPECT_TRUE(Parsed(with_line("GET /a? HTTP/1.1"))->has_query);
  EXPECT_FALSE(Parsed(with_line("GET /a HTTP/1.1"))->has_query);
  EXPECT_EQ(Parsed(with_line("GET /a?b?c HTTP/1.1"))->query, "b?c");
}

TEST(RequestParser, LeavesMethodsAndOddPathsAsTheyAre) {
  EXPECT_EQ(Parsed(with_line("post / HTTP/1.1"))->method, "post");
  EXPECT_EQ(Parsed(with_line("M-SEARCH / HTTP/1.1"))->method, "M-SEARCH");
  for (const std::string_view path : {"//login", "/./login", "\\login", "/login\\", "/a;v=1",
                                      "/%2e%2F", "/{a}|\"<>^`", "/~user/'()*!"}) {
    if (path.front() != '/') continue;
    EXPECT_EQ(Parsed(with_line("GET " + std::string(path) + " HTTP/1.1"))->path, path);
  }
  expect_refused(with_line("GET \\login HTTP/1.1"), 400);
}

TEST(RequestParser, SkipsOneEmptyLineBeforeTheRequest) {
  const std::string request = get_with("");
  EXPECT_EQ(parse_whole("\r\n" + request).consumed, request.size() + 2);
  EXPECT_EQ(parse_in_steps("\r\n" + request, 1).consumed, request.size() + 2);
  expect_refused("\r\n\r\n" + request, 400);
  expect_refused("\n" + request, 400);
  expect_refused("\rX", 400);
}

TEST(RequestParser, ReadsHowTheBodyIsFramed) {
  EXPECT_EQ(Parsed(get_with("Content-Length: 0\r\n"))->body.kind, Body::Kind::kNone);
  const Parsed length(get_with("content-LENGTH:  9223372036854775807 \r\n"));
  EXPECT_EQ(length->body.kind, Body::Kind::kLength);
  EXPECT_EQ(length->body.length, 9223372036854775807u);
  EXPECT_EQ(Parsed(get_with("Content-Length: 0012\r\n"))->body.length, 12u);
  EXPECT_EQ(Parsed(get_with("transfer-encoding: Chunked\r\n"))->body.kind, Body::Kind::kChunked);
}

TEST(RequestParser, ReadsWhetherTheConnectionStays) {
  const auto old = [](std::string_view fields) {
    return "GET / HTTP/1.0\r\n" + std::string(fields) + "\r\n";
  };
  EXPECT_FALSE(Parsed(get_with("Connection: close\r\n"))->keep_alive);
  EXPECT_FALSE(Parsed(get_with("Connection: x, Close\r\n"))->keep_alive);
  EXPECT_FALSE(Parsed(get_with("Connection: keep-alive\r\nConnection: close\r\n"))->keep_alive);
  EXPECT_TRUE(Parsed(get_with("Connection: keep-alive\r\n"))->keep_alive);
  EXPECT_FALSE(Parsed(old(""))->keep_alive);
  EXPECT_TRUE(Parsed(old("Connection: Keep-Alive\r\n"))->keep_alive);
  EXPECT_FALSE(Parsed(old("Connection: keep-alive, close\r\n"))->keep_alive);
  EXPECT_EQ(Parsed(old(""))->host, "");
}

TEST(RequestParser, ReadsExpectAndUpgrade) {
  EXPECT_TRUE(Parsed(get_with("Expect: 100-Continue\r\n"))->expect_continue);
  EXPECT_FALSE(Parsed("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n")->expect_continue);
  expect_refused(get_with("Expect: something\r\n"), 417);
  expect_refused(get_with("Expect: 100-continue\r\nExpect: 100-continue\r\n"), 417);
  EXPECT_TRUE(Parsed(get_with("Upgrade: websocket\r\nConnection: a, upgrade\r\n"))->upgrade);
  EXPECT_FALSE(Parsed(get_with("Upgrade: websocket\r\n"))->upgrade);
  EXPECT_FALSE(Parsed(get_with("Connection: upgrade\r\n"))->upgrade);
}

TEST(RequestParser, KeepsItsBoundsToTheByte) {
  const std::string request = get_with("A: 1\r\nB: 2\r\n");  // with Host, three headers
  const auto size = static_cast<std::uint32_t>(request.size());
  EXPECT_EQ(parse_whole(request, {.max_head_bytes = size}).progress, Progress::kComplete);
  expect_refused(request, 431, {.max_head_bytes = size - 1});
  EXPECT_EQ(parse_whole(request, {.max_headers = 3}).progress, Progress::kComplete);
  expect_refused(request, 431, {.max_headers = 2});
  const std::string target = with_line("GET /2345678 HTTP/1.1");
  EXPECT_EQ(parse_whole(target, {.max_target_bytes = 8}).progress, Progress::kComplete);
  expect_refused(target, 414, {.max_target_bytes = 7});
}

TEST(RequestParser, RefusesAnEndlessHeadWithoutAnEnd) {
  const Limits limits{.max_head_bytes = 4096, .max_target_bytes = 1024};
  expect_refused("GET /" + std::string(5000, 'a'), 414, limits);
  expect_refused("GET / HTTP/1.1\r\nX: " + std::string(5000, 'a'), 431, limits);
  expect_refused("GET / HTTP/1.1\r\n" + std::string(1025, 'a'), 431, limits);
  const Outcome name = parse_whole(get_with(std::string(1024, 'a') + ": b\r\n"), limits);
  EXPECT_EQ(name.progress, Progress::kComplete);
  expect_refused(get_with(std::string(1025, 'a') + ": b\r\n"), 431, limits);
}

TEST(RequestParser, FollowsItsBufferWhenItMoves) {
  const std::string text = with_line("GET http://b.test?q HTTP/1.1");
  RequestParser parser;
  std::string first = text;
  ASSERT_EQ(parser.parse(first), Progress::kComplete);
  const std::string second = text;
  parser.rebase(second.data());
  first.assign(first.size(), '!');
  EXPECT_EQ(parser.head().method, "GET");
  EXPECT_EQ(parser.head().path, "/");
  EXPECT_EQ(parser.head().query, "q");
  EXPECT_EQ(parser.head().host, "b.test");
  EXPECT_EQ(parser.head().headers.find("host").value, "a.test");
}

TEST(RequestParser, ForgetsEverythingWhenReset) {
  RequestParser parser;
  ASSERT_EQ(parser.parse("POST http://b/?q HTTP/1.0\r\nConnection: keep-alive, upgrade\r\n"
                         "Content-Length: 3\r\nUpgrade: x\r\nHost: a\r\n\r\n"),
            Progress::kComplete);
  parser.reset();
  EXPECT_FALSE(parser.begun());
  const std::string text = get_with("");
  ASSERT_EQ(parser.parse(text), Progress::kComplete);
  const RequestHead& head = parser.head();
  EXPECT_EQ(head.path, "/");
  EXPECT_EQ(head.query, "");
  EXPECT_FALSE(head.has_query || head.upgrade || head.expect_continue);
  EXPECT_EQ(head.form, TargetForm::kOrigin);
  EXPECT_EQ(head.host, "a.test");
  EXPECT_EQ(head.body.kind, Body::Kind::kNone);
  EXPECT_EQ(head.headers.size(), 1u);
  EXPECT_FALSE(head.headers.has(HeaderId::kContentLength));
}

TEST(RequestParser, SaysTheSameHoweverRandomRequestsAreCut) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  const std::string seeds[] = {
      get_with("Accept: */*\r\nCookie: a=b; c=d\r\nConnection: keep-alive\r\n"),
      get_with("Content-Length: 12\r\nExpect: 100-continue\r\n"),
      get_with("Transfer-Encoding: chunked\r\nTrailer: X\r\nUpgrade: h2c\r\n"),
      with_line("OPTIONS * HTTP/1.1"),
      with_line("GET https://b.test:443/a/b?c=%20d HTTP/1.1"),
      "\r\nHEAD /" + std::string(70, 'p') + "?q HTTP/1.0\r\nX-Long-Header-Name-Here: 1\r\n\r\n",
  };
  const Limits limits{.max_headers = 5, .max_head_bytes = 256, .max_target_bytes = 80};
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random.mutate(seeds[random.below(std::size(seeds))]);
    const Outcome whole = parse_whole(text, limits);
    ASSERT_EQ(parse_in_steps(text, 1, limits), whole) << text;
    ASSERT_EQ(parse_in_steps(text, 1 + random.below(20), limits), whole) << text;
  }
}

}  // namespace
}  // namespace weir::http1
