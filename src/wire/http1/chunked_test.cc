// Chunked bodies: what is decoded, what is refused, where the bounds stand.

#include "wire/http1/chunked.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/test_random.h"

namespace weir::http1 {
namespace {

using wire_test::Random;

// What a decoder says of the text fed `step` bytes at a time: payload, then how it ended.
std::string say(std::string_view text, std::size_t step) {
  ChunkedDecoder decoder;
  std::string payload;
  std::size_t taken = 0;
  std::size_t given = 0;
  for (;;) {
    const auto output = decoder.decode(text.substr(taken, given - taken));
    taken += output.consumed;
    payload.append(output.payload);
    EXPECT_EQ(decoder.decoded(), payload.size());
    if (output.progress == Progress::kError) {
      EXPECT_EQ(decoder.error().status, 400);
      return payload + "|error: " + std::string(decoder.error().message);
    }
    if (output.progress == Progress::kComplete) {
      std::string said = payload + "|" + std::to_string(taken);
      for (const Header trailer : decoder.trailers()) {
        said.append(" ").append(trailer.name).append("=").append(trailer.value);
      }
      return said;
    }
    if (output.consumed != 0) continue;
    if (given == text.size()) return payload + "|more";
    given = std::min(text.size(), given + step);
  }
}

std::string say_both(const std::string& text) {
  const std::string whole = say(text, text.size() + 1);
  EXPECT_EQ(say(text, 1), whole) << text;
  return whole;
}

TEST(ChunkedDecoder, GivesThePayloadAndStopsAtItsEnd) {
  EXPECT_EQ(say_both("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET /"), "hello world|26");
  EXPECT_EQ(say_both("0\r\n\r\n"), "|5");
  EXPECT_EQ(say_both("000a\r\n0123456789\r\n00\r\n\r\n"), "0123456789|24");
  EXPECT_EQ(say_both("A\r\n0123456789\r\n"), "0123456789|more");
}

TEST(ChunkedDecoder, DropsExtensions) {
  EXPECT_EQ(say_both("1;a=b\r\nx\r\n1;c=\"d;e\"\r\ny\r\n0;last\r\n\r\n"), "xy|34");
}

TEST(ChunkedDecoder, GivesTrailers) {
  EXPECT_EQ(say_both("1\r\nx\r\n0\r\nX-Sum:  1 \r\nX-Two: 2\r\n\r\nrest"), "x|33 X-Sum=1 X-Two=2");
}

TEST(ChunkedDecoder, RefusesEverySizeThatIsNotPlainHexadecimal) {
  for (const std::string_view size :
       {"", "0x1", "+1", "-1", " 1", "1 ", "1\t", "g", "1,1", "_1", "00000000000000001",
        "8000000000000000", "ffffffffffffffff", "10000000000000000"}) {
    const std::string said = say_both(std::string(size) + "\r\nx\r\n0\r\n\r\n");
    EXPECT_EQ(said.substr(0, 7), "|error:") << size;
  }
  EXPECT_EQ(say_both("7fffffffffffffff\r\nx"), "x|more");
}

TEST(ChunkedDecoder, RefusesLinesThatEndOtherwiseThanInCrLf) {
  for (const std::string_view text :
       {"1\nx\r\n0\r\n\r\n", "1\rx\r\n", "1;a\nx", "1;a\rb\r\nx", "1 ;a\r\nx", "\r\n1\r\nx"}) {
    EXPECT_EQ(say_both(std::string(text)).substr(0, 7), "|error:") << text;
  }
  for (const std::string_view text : {"1\r\nx\n0\r\n\r\n", "1\r\nxy\r\n", "1\r\nx0\r\n\r\n"}) {
    EXPECT_EQ(say_both(std::string(text)).substr(0, 8), "x|error:") << text;
  }
  for (const std::string_view text : {"0\r\n\n", "0\r\nX: a\n\r\n", "0\r\nX: a\r\n b\r\n\r\n",
                                      "0\r\nX : a\r\n\r\n", "0\r\n\rX"}) {
    EXPECT_EQ(say_both(std::string(text)).substr(0, 7), "|error:") << text;
  }
}

TEST(ChunkedDecoder, RefusesTrailersThatOnlyAHeadMayCarry) {
  for (const std::string_view name :
       {"Content-Length", "Transfer-Encoding", "Host", "Trailer", "Connection", "Content-Type",
        "Cookie", "Expect", "TE", "Upgrade", "Keep-Alive", "Proxy-Authorization"}) {
    const std::string said = say_both("0\r\n" + std::string(name) + ": 1\r\n\r\n");
    EXPECT_EQ(said.substr(0, 7), "|error:") << name;
  }
}

TEST(ChunkedDecoder, BoundsExtensionsOfAChunkAndOfABody) {
  EXPECT_EQ(say_both("0;" + std::string(256, 'a') + "\r\n\r\n"), "|262");
  EXPECT_EQ(say_both("0;" + std::string(257, 'a') + "\r\n\r\n").substr(0, 7), "|error:");
  std::string many;
  for (int i = 0; i < 64; ++i) many += "1;" + std::string(256, 'a') + "\r\nx\r\n";
  EXPECT_EQ(say(many, 1000), std::string(64, 'x') + "|more");
  EXPECT_EQ(say(many + "1;a\r\nx\r\n", 1000).substr(0, 71), std::string(64, 'x') + "|error:");
}

TEST(ChunkedDecoder, BoundsTrailersInNumberAndBytes) {
  std::string trailers;
  for (int i = 0; i < 32; ++i) trailers += "X: a\r\n";
  EXPECT_EQ(say_both("0\r\n" + trailers + "\r\n").substr(0, 5), "|197 ");
  EXPECT_EQ(say_both("0\r\n" + trailers + "X: a\r\n\r\n").substr(0, 7), "|error:");
  const std::string fitting = "X: " + std::string(8192 - 7, 'a') + "\r\n\r\n";
  EXPECT_EQ(say("0\r\n" + fitting, 100).substr(0, 6), "|8195 ");
  EXPECT_EQ(say("0\r\nX" + fitting, 100).substr(0, 7), "|error:");
}

TEST(ChunkedDecoder, SaysTheSameHoweverRandomBodiesAreCut) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  const std::string seeds[] = {
      "5\r\nhello\r\n1a;x=\"y\"\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\nGET / HTTP/1.1\r\n",
      "1\r\na\r\n000\r\nX-Sum: 1\r\nX: \t2\r\n\r\nGET"};
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random.mutate(seeds[random.below(std::size(seeds))]);
    const std::string whole = say(text, text.size() + 1);
    ASSERT_EQ(say(text, 1), whole) << text;
    ASSERT_EQ(say(text, 1 + random.below(9)), whole) << text;
  }
}

TEST(ChunkedWriter, WritesWhatTheDecoderReads) {
  std::string out;
  append_chunk(out, "hello");
  append_chunk(out, "");
  append_chunk(out, std::string(300, 'x'));
  out.append(kLastChunk);
  EXPECT_EQ(out.substr(0, 15), "5\r\nhello\r\n12c\r\n");
  EXPECT_EQ(say_both(out), "hello" + std::string(300, 'x') + "|" + std::to_string(out.size()));
  EXPECT_EQ(ChunkHeader(~std::uint64_t{0}).view(), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace weir::http1
