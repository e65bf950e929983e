// ResponseParser: framing by status and request, and what an upstream may not say.

#include "wire/http1/response.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/test_random.h"

namespace weir::http1 {
namespace {

using wire_test::Random;

// What a parser says of the text fed `step` bytes at a time, in words.
std::string say(std::string_view text, std::size_t step, bool to_head = false) {
  ResponseParser parser({.max_headers = 4, .max_head_bytes = 200});
  for (std::size_t size = 0;; size = std::min(text.size(), size + step)) {
    const std::string copy(text.substr(0, size));
    const Progress progress = parser.parse(copy, to_head);
    if (progress == Progress::kError) {
      EXPECT_EQ(parser.error().status, 502);
      return "error: " + std::string(parser.error().message);
    }
    if (progress == Progress::kNeedMore) {
      if (size == text.size()) return "more";
      continue;
    }
    const ResponseHead& head = parser.head();
    constexpr const char* kKinds[] = {"none", "length", "chunked", "until close"};
    return std::to_string(head.status) + " " + kKinds[static_cast<int>(head.body.kind)] +
           (head.body.kind == Body::Kind::kLength ? " " + std::to_string(head.body.length) : "") +
           (head.keep_alive ? " keep" : " close") + " " + std::to_string(parser.consumed());
  }
}

std::string say_framing(const std::string& head, bool to_head = false) {
  const std::string whole = say(head, head.size() + 1, to_head);
  EXPECT_EQ(say(head, 1, to_head), whole) << head;
  return whole.substr(0, whole.rfind(' '));
}

TEST(ResponseParser, FramesTheBodyAsTheRfcOrdersIt) {
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), "200 length 5 keep");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "200 none keep");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "200 chunked keep");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\n\r\n"), "200 until close close");
  EXPECT_EQ(say_framing("HTTP/1.0 200 OK\r\n\r\n"), "200 until close close");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"),
            "200 length 5 close");
  EXPECT_EQ(say_framing("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"), "200 length 5 close");
}

TEST(ResponseParser, KnowsTheAnswersThatHaveNoBody) {
  EXPECT_EQ(say_framing("HTTP/1.1 204 No Content\r\n\r\n"), "204 none keep");
  EXPECT_EQ(say_framing("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), "304 none keep");
  EXPECT_EQ(say_framing("HTTP/1.1 100 Continue\r\n\r\n"), "100 none keep");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true), "200 none keep");
  EXPECT_EQ(say_framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true),
            "200 none keep");
}

TEST(ResponseParser, ReadsInterimResponsesOneAfterTheOther) {
  std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  ResponseParser parser;
  std::string statuses;
  do {
    parser.reset();
    ASSERT_EQ(parser.parse(text), Progress::kComplete);
    statuses += std::to_string(parser.head().status) + " ";
    text.erase(0, parser.consumed());
  } while (parser.head().is_interim());
  EXPECT_EQ(statuses, "100 103 200 ");
}

TEST(ResponseParser, TellsASwitchOfProtocolsFromAnInterimResponse) {
  ResponseParser parser;
  ASSERT_EQ(parser.parse("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
            Progress::kComplete);
  EXPECT_TRUE(parser.head().switches_protocols());
  EXPECT_FALSE(parser.head().is_interim());
}

TEST(ResponseParser, AcceptsStatusLinesWithoutAReason) {
  for (const std::string_view line : {"HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n"}) {
    const std::string text = std::string(line) + "Content-Length: 1\r\n\r\n";
    EXPECT_EQ(say_framing(text), "200 length 1 keep");
  }
  ResponseParser parser;
  const std::string text = "HTTP/1.1 404 Nothing here\r\n\r\n";
  ASSERT_EQ(parser.parse(text), Progress::kComplete);
  EXPECT_EQ(parser.head().reason, "Nothing here");
}

TEST(ResponseParser, RefusesWhatTwoReadersCouldFrameDifferently) {
  for (const std::string& head : {
           std::string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
           std::string(
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
           std::string("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"),
           std::string("HTTP/1.1 200 OK\nX: a\n\n"),
           std::string("HTTP/1.1 200 O\0K\r\n\r\n", 20),
           std::string("HTTP/1.1 20 OK\r\n\r\n"),
           std::string("HTTP/1.1 2000 OK\r\n\r\n"),
           std::string("HTTP/1.1 200x\r\n\r\n"),
           std::string("HTTP/1.1  200 OK\r\n\r\n"),
           std::string("HTTP/1.1 099 OK\r\n\r\n"),
           std::string("HTTP/1.1 600 OK\r\n\r\n"),
           std::string("HTTP/2 200\r\n\r\n"),
           std::string("ICY 200 OK\r\n\r\n"),
           std::string("\r\nHTTP/1.1 200 OK\r\n\r\n"),
           "HTTP/1.1 200 " + std::string(200, 'a'),
           "HTTP/1.1 200 OK\r\nA: " + std::string(200, 'a'),
           std::string("HTTP/1.1 200 OK\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\r\n"),
       }) {
    const std::string whole = say(head, head.size() + 1);
    EXPECT_EQ(whole.substr(0, 6), "error:") << head;
    EXPECT_EQ(say(head, 1), whole) << head;
  }
}

TEST(ResponseParser, SaysTheSameHoweverRandomResponsesAreCut) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  const std::string seeds[] = {
      "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 5\r\nConnection: "
      "keep-alive\r\n\r\nhello",
      "HTTP/1.1 429 \r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\n",
      "HTTP/1.0 304\r\nETag: \"abcdefghijklmnopqrstuvwxyz\"\r\n\r\n",
  };
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random.mutate(seeds[random.below(std::size(seeds))]);
    const bool to_head = random.one_in(4);
    const std::string whole = say(text, text.size() + 1, to_head);
    ASSERT_EQ(say(text, 1, to_head), whole) << text;
    ASSERT_EQ(say(text, 1 + random.below(20), to_head), whole) << text;
  }
}

}  // namespace
}  // namespace weir::http1
