#include "wire/websocket/frame_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::websocket {
namespace {

std::string frame(Opcode opcode, std::string_view payload, bool fin = true) {
  std::string out;
  FrameHeader header;
  header.opcode = opcode;
  header.fin = fin;
  header.length = payload.size();
  append_frame_header(out, header);
  return out.append(payload);
}

// The fault that these bytes show, or "none".
std::string fault_of(const std::string& bytes, Sender sender = Sender::kServer) {
  FrameTracker tracker(sender);
  for (std::string_view rest = bytes; !rest.empty();) {
    const FrameTracker::Step step = tracker.take(rest);
    if (step.violated) return std::string(step.violation.message);
    if (step.size == 0) return "none";
    rest.remove_prefix(step.size);
  }
  return "none";
}

TEST(FrameTracker, KnowsWhereMessagesEndHoweverTheBytesArrive) {
  const std::string bytes = frame(Opcode::kText, "one") + frame(Opcode::kText, "tw", false) +
                            frame(Opcode::kPing, "p") + frame(Opcode::kContinuation, "o") +
                            frame(Opcode::kBinary, std::string(70'000, 'x')) +
                            frame(Opcode::kText, "");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    FrameTracker tracker(Sender::kServer);
    std::vector<std::size_t> ends;  // of messages
    std::size_t taken = 0;
    std::size_t given = 0;
    while (taken < bytes.size()) {
      given = std::min(bytes.size(), given + piece);
      for (;;) {
        const auto step = tracker.take(std::string_view(bytes).substr(taken, given - taken));
        ASSERT_FALSE(step.violated) << step.violation.message;
        if (step.size == 0) break;
        taken += step.size;
        if (tracker.between_messages()) ends.push_back(taken);
      }
    }
    EXPECT_EQ(ends, (std::vector<std::size_t>{5, 15, 70'025, 70'027})) << "pieces of " << piece;
  }
}

TEST(FrameTracker, LetsControlFramesInBetweenFragmentsOnly) {
  FrameTracker tracker(Sender::kServer);
  EXPECT_TRUE(tracker.between_frames() && tracker.between_messages());
  tracker.take(frame(Opcode::kText, "frag", false).substr(0, 4));
  EXPECT_FALSE(tracker.between_frames());
  tracker.take("ag");
  EXPECT_TRUE(tracker.between_frames());
  EXPECT_FALSE(tracker.between_messages());
  tracker.take(frame(Opcode::kContinuation, ""));
  EXPECT_TRUE(tracker.between_messages());
}

TEST(FrameTracker, TellsViolations) {
  EXPECT_EQ(fault_of(frame(Opcode::kContinuation, "x")), "continuation without a message");
  EXPECT_EQ(fault_of(frame(Opcode::kText, "a", false) + frame(Opcode::kText, "b")),
            "new message inside a fragmented one");
  EXPECT_EQ(fault_of(frame(Opcode::kPing, "", false)), "control frame is fragmented");
  EXPECT_EQ(fault_of("\xc1"), "reserved bit is set and no extension agreed on");
  EXPECT_EQ(fault_of("\x83"), "unknown opcode");
  EXPECT_EQ(fault_of("\x81\x81"), "frame of a server is masked");
  EXPECT_EQ(fault_of(frame(Opcode::kText, "a"), Sender::kClient),
            "frame of a client is not masked");
  EXPECT_EQ(fault_of(frame(Opcode::kClose, "") + frame(Opcode::kText, "a")),
            "frame after a close frame");
}

TEST(FrameTracker, KnowsThatACloseHasBegun) {
  FrameTracker tracker(Sender::kServer);
  EXPECT_FALSE(tracker.closed());
  tracker.take(frame(Opcode::kClose, "\x03\xe8"));
  EXPECT_TRUE(tracker.closed() && tracker.between_frames());
}

}  // namespace
}  // namespace weir::websocket
