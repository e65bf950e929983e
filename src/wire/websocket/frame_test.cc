// WebSocket frames, handshake, hashes and UTF-8.

#include "wire/websocket/frame.h"

#include <gtest/gtest.h>

#include <string>

#include "support/websocket_client.h"
#include "wire/http1/writer.h"
#include "wire/test_random.h"
#include "wire/websocket/handshake.h"
#include "wire/websocket/sha1.h"
#include "wire/websocket/utf8.h"

namespace weir::websocket {
namespace {

using wire_test::Random;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out.push_back(kDigits[static_cast<std::uint8_t>(c) >> 4]);
    out.push_back(kDigits[static_cast<std::uint8_t>(c) & 15]);
  }
  return out;
}

std::string sha1_hex(std::string_view message) {
  const auto digest = sha1(message);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST(Sha1, GivesTheDigestsOfItsStandard) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Handshake, GivesTheAcceptKeyOfTheRfc) {
  EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

http1::RequestHead parsed(http1::RequestParser& parser, std::string_view text) {
  EXPECT_EQ(parser.parse(text), http1::Progress::kComplete) << text;
  return parser.head();
}

constexpr std::string_view kHandshake =
    "GET /ws HTTP/1.1\r\nHost: a.test\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

std::string handshake_with(std::string_view from, std::string_view to) {
  std::string text(kHandshake);
  return text.replace(text.find(from), from.size(), to);
}

TEST(Handshake, AcceptsARightRequestAndIsAcceptedByItsClient) {
  http1::RequestParser parser;
  const http1::RequestHead head = parsed(parser, kHandshake);
  ASSERT_TRUE(is_handshake(head));
  const Handshake handshake = read_handshake(head);
  ASSERT_TRUE(handshake) << handshake.message;
  std::string response;
  http1::append_status_line(response, 101);
  append_handshake_headers(response, handshake.key);
  http1::append_end_of_headers(response);
  http1::ResponseParser client;
  ASSERT_EQ(client.parse(response), http1::Progress::kComplete);
  EXPECT_TRUE(support::accepts_handshake(client.head(), handshake.key));
  EXPECT_FALSE(support::accepts_handshake(client.head(), "AAAAAAAAAAAAAAAAAAAAAA=="));
}

TEST(Handshake, RefusesWrongRequestsWithTheirStatus) {
  const struct {
    std::string request;
    int status;
  } cases[] = {
      {handshake_with("GET", "POST"), 405},
      {handshake_with("Version: 13", "Version: 8"), 426},
      {handshake_with("Sec-WebSocket-Version: 13\r\n", ""), 400},
      {handshake_with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ="), 400},
      {handshake_with("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhb!BsZSBub25jZQ=="), 400},
      {handshake_with("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""), 400},
      {handshake_with("Host: a.test\r\n", "Host: a.test\r\nContent-Length: 1\r\n"), 400},
  };
  for (const auto& refusal : cases) {
    http1::RequestParser parser;
    const http1::RequestHead head = parsed(parser, refusal.request);
    ASSERT_TRUE(is_handshake(head));
    EXPECT_EQ(read_handshake(head).status, refusal.status) << refusal.request;
  }
}

TEST(Handshake, IsNotSeenWithoutConnectionUpgrade) {
  http1::RequestParser parser;
  EXPECT_FALSE(is_handshake(parsed(parser, handshake_with("keep-alive, Upgrade", "keep-alive"))));
  http1::RequestParser old;
  EXPECT_FALSE(is_handshake(parsed(old, handshake_with("HTTP/1.1", "HTTP/1.0"))));
}

TEST(Frame, ReadsBackEveryLengthAtItsBounds) {
  const std::uint64_t lengths[] = {0, 1, 125, 126, 127, 65535, 65536, (1ull << 63) - 1};
  for (const std::uint64_t length : lengths) {
    for (const bool masked : {false, true}) {
      FrameHeader header;
      header.length = length;
      header.opcode = Opcode::kBinary;
      header.masked = masked;
      header.mask = masked ? MaskKey{1, 2, 3, 4} : MaskKey{};
      std::string bytes;
      append_frame_header(bytes, header);
      const Sender sender = masked ? Sender::kClient : Sender::kServer;
      for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        EXPECT_EQ(read_frame_header(std::string_view(bytes).substr(0, cut), sender).kind,
                  FrameRead::Kind::kNeedMore);
      }
      const FrameRead read = read_frame_header(bytes + "rest", sender);
      ASSERT_EQ(read.kind, FrameRead::Kind::kComplete) << length;
      EXPECT_EQ(read.consumed, bytes.size());
      EXPECT_EQ(read.header.length, length);
      EXPECT_EQ(read.header.mask, header.mask);
    }
  }
}

TEST(Frame, RefusesWhatTheRfcForbidsAsAProtocolError) {
  const struct {
    std::string_view bytes;
    Sender sender;
  } cases[] = {
      {{"\xc1", 1}, Sender::kServer},              // RSV1
      {{"\x91", 1}, Sender::kServer},              // RSV3
      {{"\x83", 1}, Sender::kServer},              // opcode 3
      {{"\x8b", 1}, Sender::kServer},              // opcode 11
      {{"\x81\x80", 2}, Sender::kServer},          // masked by a server
      {{"\x81\x00", 2}, Sender::kClient},          // not masked by a client
      {{"\x09\x00", 2}, Sender::kServer},          // fragmented ping
      {{"\x89\x7e", 2}, Sender::kServer},          // ping of 126 bytes
      {{"\x82\x7e\x00\x7d", 4}, Sender::kServer},  // 125 in two bytes
      {{"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", 10}, Sender::kServer},
      {{"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", 10}, Sender::kServer},
  };
  for (const auto& wrong : cases) {
    const FrameRead read = read_frame_header(wrong.bytes, wrong.sender);
    EXPECT_EQ(read.kind, FrameRead::Kind::kViolation) << hex(wrong.bytes);
    EXPECT_EQ(read.violation.code, CloseCode::kProtocolError);
    EXPECT_FALSE(read.violation.message.empty());
  }
}

TEST(Frame, MasksTheSameInPiecesAndWhole) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  for (int round = 0; round < 200; ++round) {
    std::string whole(random.below(70), '\0');
    for (char& c : whole) c = random.byte();
    std::string pieces = whole;
    const MaskKey key = {static_cast<std::uint8_t>(random.byte()), 0x80, 0, 0xff};
    apply_mask({whole.data(), whole.size()}, key, 3);
    for (std::size_t at = 0; at < pieces.size();) {
      const std::size_t size = 1 + random.below(pieces.size() - at);
      apply_mask({pieces.data() + at, size}, key, 3 + at);
      at += size;
    }
    EXPECT_EQ(whole, pieces);
  }
}

TEST(Frame, CutsALongCloseReasonBetweenCharacters) {
  std::string out;
  std::string reason(122, 'a');
  reason += "\xc3\xa4";
  append_close(out, CloseCode::kNormal, reason);
  EXPECT_EQ(out.size(), 2u + 2u + 122u);
  EXPECT_EQ(out.substr(0, 4), std::string("\x88\x7c\x03\xe8"));
}

TEST(Utf8, AcceptsTheEdgesOfEachLengthAndRefusesTheirNeighbours) {
  for (const std::string_view right :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "12345678\xc3\xa4"}) {
    EXPECT_TRUE(is_utf8(right)) << hex(right);
  }
  for (const std::string_view wrong :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "12345678\xc3"}) {
    EXPECT_FALSE(is_utf8(wrong)) << hex(wrong);
  }
}

TEST(Utf8, TellsAFaultAtItsByteHoweverTheTextIsCut) {
  Utf8Validator validator;
  EXPECT_TRUE(validator.feed("\xf0"));
  EXPECT_FALSE(validator.complete());
  EXPECT_TRUE(validator.feed("\x9f"));
  EXPECT_TRUE(validator.feed("\x98\x80"));
  EXPECT_TRUE(validator.complete());
  EXPECT_TRUE(validator.feed("\xed"));
  EXPECT_FALSE(validator.feed("\xa0"));
}

}  // namespace
}  // namespace weir::websocket
