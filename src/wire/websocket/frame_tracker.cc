#include "wire/websocket/frame_tracker.h"

#include <algorithm>

namespace weir::websocket {

FrameTracker::Step FrameTracker::take(std::string_view bytes) {
  Step step;
  if (left_ == 0) {
    const FrameRead read = read_frame_header(bytes, sender_);
    if (read.kind == FrameRead::Kind::kNeedMore) return step;
    if (read.kind == FrameRead::Kind::kViolation) return violate(read.violation);
    if (closed_) return violate({CloseCode::kProtocolError, "frame after a close frame"});
    const FrameHeader& header = read.header;
    if (!is_control(header.opcode)) {
      const bool continues = header.opcode == Opcode::kContinuation;
      if (continues && !in_message_) {
        return violate({CloseCode::kProtocolError, "continuation without a message"});
      }
      if (!continues && in_message_) {
        return violate({CloseCode::kProtocolError, "new message inside a fragmented one"});
      }
      in_message_ = !header.fin;
    }
    closed_ = header.opcode == Opcode::kClose;
    left_ = header.length;
    step.size = read.consumed;
    bytes.remove_prefix(read.consumed);
  }
  const std::uint64_t payload = std::min<std::uint64_t>(left_, bytes.size());
  left_ -= payload;
  step.size += static_cast<std::size_t>(payload);
  return step;
}

FrameTracker::Step FrameTracker::violate(Violation violation) {
  Step step;
  step.violated = true;
  step.violation = violation;
  return step;
}

}  // namespace weir::websocket
