// Reader: messages in and out of order, control frames between them, bounds, and cuts.

#include "wire/websocket/reader.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/test_random.h"

namespace weir::websocket {
namespace {

using wire_test::Random;

constexpr MaskKey kKey = {0x12, 0x34, 0x56, 0x78};

std::string frame(Opcode opcode, std::string_view payload, bool fin = true) {
  std::string out;
  append_masked_frame(out, opcode, payload, kKey);
  if (!fin) out[0] = static_cast<char>(out[0] & 0x7f);
  return out;
}

// Everything that a reader says about bytes cut into pieces of at most `piece`, as one line.
// A message's pieces are put together, since where they are cut is not part of the answer.
std::string transcript(const std::string& bytes, std::size_t piece,
                       const ReaderLimits& limits = {}) {
  Reader reader(Sender::kClient, limits);
  std::string said;
  std::string pending;
  std::string message;
  std::size_t fed = 0;
  for (;;) {
    const Event event = reader.read({pending.data(), pending.size()});
    switch (event.kind) {
      case Event::Kind::kMessage:
        message.append(event.payload);
        if (event.last) {
          said += (event.opcode == Opcode::kText ? "text(" : "binary(") + message + ") ";
          message.clear();
        }
        break;
      case Event::Kind::kPing:
        said += "ping(" + std::string(event.payload) + ") ";
        break;
      case Event::Kind::kPong:
        said += "pong(" + std::string(event.payload) + ") ";
        break;
      case Event::Kind::kClose:
        said +=
            "close(" + std::to_string(event.close_code) + " " + std::string(event.payload) + ") ";
        break;
      case Event::Kind::kViolation:
        return said + "violation(" + std::to_string(static_cast<int>(event.violation.code)) + ")";
      case Event::Kind::kNeedMore:
        break;
    }
    pending.erase(0, event.consumed);
    if (event.kind != Event::Kind::kNeedMore || event.consumed != 0) continue;
    if (fed == bytes.size()) return said;
    pending += bytes.substr(fed, piece);
    fed += std::min(piece, bytes.size() - fed);
  }
}

struct Case {
  std::string bytes;
  std::string_view said;
};

void expect_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(transcript(c.bytes, c.bytes.size() + 1), c.said);
    EXPECT_EQ(transcript(c.bytes, 1), c.said);
  }
}

TEST(Reader, GivesMessagesAndTheControlFramesBetweenTheirFragments) {
  expect_all({
      {frame(Opcode::kText, "hello"), "text(hello) "},
      {frame(Opcode::kText, ""), "text() "},
      {frame(Opcode::kBinary, "\xff"), "binary(\xff) "},
      {frame(Opcode::kText, "he", false) + frame(Opcode::kPing, "p") +
           frame(Opcode::kContinuation, "", false) + frame(Opcode::kContinuation, "llo"),
       "ping(p) text(hello) "},
      {frame(Opcode::kPong, "") + frame(Opcode::kText, "a") + frame(Opcode::kText, "b"),
       "pong() text(a) text(b) "},
  });
}

TEST(Reader, RefusesFragmentsOutOfOrder) {
  expect_all({
      {frame(Opcode::kContinuation, "a"), "violation(1002)"},
      {frame(Opcode::kText, "a", false) + frame(Opcode::kText, "b"), "violation(1002)"},
      {frame(Opcode::kText, "a") + frame(Opcode::kContinuation, "b"), "text(a) violation(1002)"},
      {frame(Opcode::kPing, "a", false), "violation(1002)"},
  });
}

TEST(Reader, ChecksTextAcrossFragments) {
  expect_all({
      {frame(Opcode::kText, "\xc3", false) + frame(Opcode::kContinuation, "\xa4"),
       "text(\xc3\xa4) "},
      {frame(Opcode::kText, "\xc3"), "violation(1007)"},
      {frame(Opcode::kText, "\xc3", false) + frame(Opcode::kContinuation, ""), "violation(1007)"},
      {frame(Opcode::kText, "a\xff", false), "violation(1007)"},
      {frame(Opcode::kBinary, "\xc3"), "binary(\xc3) "},
  });
}

TEST(Reader, ReadsCloseFramesAndRefusesWrongOnes) {
  expect_all({
      {frame(Opcode::kClose, ""), "close(1005 ) "},
      {frame(Opcode::kClose, "\x03\xe8"), "close(1000 ) "},
      {frame(Opcode::kClose,
             "\x0f\xa0"
             "bye"),
       "close(4000 bye) "},
      {frame(Opcode::kClose, "\x03"), "violation(1002)"},
      {frame(Opcode::kClose, "\x03\xed"), "violation(1002)"},  // 1005
      {frame(Opcode::kClose, "\x03\xee"), "violation(1002)"},  // 1006
      {frame(Opcode::kClose, "\x03\xf7"), "violation(1002)"},  // 1015
      {frame(Opcode::kClose, "\x03\xe7"), "violation(1002)"},  // 999
      {frame(Opcode::kClose, "\x13\x88"), "violation(1002)"},  // 5000
      {frame(Opcode::kClose, "\x03\xe8\xff"), "violation(1007)"},
  });
}

TEST(Reader, RefusesAMessageOneByteOverItsBoundFromItsHeader) {
  const ReaderLimits limits{.max_message_bytes = 4};
  const auto whole = [&](const std::string& bytes) { return transcript(bytes, 100, limits); };
  EXPECT_EQ(whole(frame(Opcode::kText, "1234")), "text(1234) ");
  EXPECT_EQ(whole(frame(Opcode::kText, "12345")), "violation(1009)");
  EXPECT_EQ(whole(frame(Opcode::kText, "12345").substr(0, 6)), "violation(1009)");
  EXPECT_EQ(whole(frame(Opcode::kText, "123", false) + frame(Opcode::kContinuation, "4")),
            "text(1234) ");
  EXPECT_EQ(whole(frame(Opcode::kText, "123", false) + frame(Opcode::kContinuation, "45")),
            "violation(1009)");
}

TEST(Reader, SaysTheSameHoweverRandomFramesAreCut) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  constexpr Opcode kOpcodes[] = {Opcode::kContinuation, Opcode::kText, Opcode::kBinary,
                                 Opcode::kClose,        Opcode::kPing, Opcode::kPong};
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (std::size_t i = random.below(5); i > 0; --i) {
      const Opcode opcode = kOpcodes[random.below(std::size(kOpcodes))];
      bytes += frame(opcode, std::string(random.below(140), 'a'), !random.one_in(4));
    }
    bytes = random.mutate(bytes);
    const std::string whole = transcript(bytes, bytes.size() + 1);
    EXPECT_EQ(transcript(bytes, 1), whole);
    EXPECT_EQ(transcript(bytes, 1 + random.below(9)), whole);
  }
}

}  // namespace
}  // namespace weir::websocket
