#include "serve/gateway/body_relay.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::gateway {
namespace {

using Framing = BodyRelay::Framing;
using Kind = http1::Body::Kind;
using Status = BodyRelay::Status;

constexpr std::size_t kRoom = 1 << 20;

// Relays `input` in pieces of `piece` bytes; returns what was not taken.
std::string relay_in_pieces(BodyRelay& relay, std::string_view input, std::size_t piece,
                            std::string& output) {
  std::string waiting;
  while (!input.empty()) {
    waiting.append(input.substr(0, piece));
    input.remove_prefix(std::min(piece, input.size()));
    waiting.erase(0, relay.relay(waiting, output, kRoom));
  }
  return waiting;
}

TEST(BodyRelay, ABodyOfNoBytesIsDoneFromTheStart) {
  BodyRelay relay;
  relay.start({Kind::kNone, 0}, Framing::kRaw);
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, TakesExactlyTheLengthAndLeavesTheNextMessage) {
  for (const std::size_t piece : {1, 3, 100}) {
    BodyRelay relay;
    relay.start({Kind::kLength, 5}, Framing::kRaw);
    std::string output;
    EXPECT_EQ(relay_in_pieces(relay, "helloGET /", piece, output), "GET /");
    EXPECT_EQ(output, "hello");
    EXPECT_TRUE(relay.done());
  }
}

TEST(BodyRelay, FramesChunksAnewWithoutExtensionsAndLeavesTheNextMessage) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kChunked);
  std::string output;
  const std::string rest =
      relay_in_pieces(relay, "005;a=b\r\nhello\r\n0;x\r\n\r\nGET /", 1000, output);
  EXPECT_EQ(output, "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(rest, "GET /");
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, PassesTrailersOn) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kChunked);
  std::string output;
  relay_in_pieces(relay, "1\r\na\r\n0\r\nChecksum: 7\r\nX: y\r\n\r\n", 1, output);
  EXPECT_EQ(output, "1\r\na\r\n0\r\nChecksum: 7\r\nX: y\r\n\r\n");
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, GivesThePayloadAloneToAReceiverThatKnowsNoChunks) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kRaw);
  std::string output;
  relay_in_pieces(relay, "3\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n", 2, output);
  EXPECT_EQ(output, "abcde");
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, ABodyUntilCloseEndsWithAProperLastChunk) {
  BodyRelay relay;
  relay.start({Kind::kUntilClose, 0}, Framing::kChunked);
  std::string output;
  relay_in_pieces(relay, "abc", 100, output);
  EXPECT_EQ(relay.status(), Status::kMore);
  relay.end_of_input(output);
  EXPECT_EQ(output, "3\r\nabc\r\n0\r\n\r\n");
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, ALengthThatIsNotReachedIsAnError) {
  BodyRelay relay;
  relay.start({Kind::kLength, 5}, Framing::kRaw);
  std::string output;
  relay_in_pieces(relay, "abc", 100, output);
  relay.end_of_input(output);
  EXPECT_EQ(relay.status(), Status::kError);
}

TEST(BodyRelay, ChunksThatBreakOffAreAnErrorAndGetNoLastChunk) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kChunked);
  std::string output;
  relay_in_pieces(relay, "3\r\nabc\r\n", 100, output);
  relay.end_of_input(output);
  EXPECT_EQ(relay.status(), Status::kError);
  EXPECT_EQ(output, "3\r\nabc\r\n");
}

TEST(BodyRelay, AWrongChunkSizeIsAnErrorThatSaysWhy) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kChunked);
  std::string output;
  relay_in_pieces(relay, "0x5\r\nhello", 100, output);
  EXPECT_EQ(relay.status(), Status::kError);
  EXPECT_FALSE(relay.error().empty());
  EXPECT_EQ(output, "");
}

TEST(BodyRelay, StopsWhereTheReceiverHasNoRoomAndGoesOnLater) {
  BodyRelay relay;
  relay.start({Kind::kLength, 10}, Framing::kRaw);
  std::string output;
  EXPECT_EQ(relay.relay("0123456789", output, 4), 4u);
  EXPECT_EQ(relay.relay("456789", output, 4), 0u);
  output.clear();
  EXPECT_EQ(relay.relay("456789", output, 4), 4u);
  output.clear();
  EXPECT_EQ(relay.relay("89", output, 4), 2u);
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, ADroppedBodyEndsWhereItWouldHaveEnded) {
  BodyRelay relay;
  relay.start({Kind::kChunked, 0}, Framing::kChunked);
  std::string output;
  relay_in_pieces(relay, "3\r\nab", 100, output);
  relay.drop();
  output.clear();
  EXPECT_EQ(relay_in_pieces(relay, "c\r\n0\r\n\r\nGET", 100, output), "GET");
  EXPECT_EQ(output, "");
  EXPECT_TRUE(relay.done());
}

TEST(BodyRelay, IsUsedForOneBodyAfterTheOther) {
  BodyRelay relay;
  std::string output;
  for (int i = 0; i < 3; ++i) {
    relay.start({Kind::kChunked, 0}, Framing::kChunked);
    output.clear();
    relay_in_pieces(relay, "1\r\na\r\n0\r\nT: 1\r\n\r\n", 100, output);
    EXPECT_EQ(output, "1\r\na\r\n0\r\nT: 1\r\n\r\n");
  }
}

}  // namespace
}  // namespace weir::gateway
