// FrameTracker: where frames and messages of one direction begin and end, for who passes the bytes
// on as they are and must know where something else may be put between them.
//
// Checks what a relay must rely on: headers as read_frame_header() does, and continuations in their
// place. Payload is not looked at.
//
// THREADS: one tracker, one thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/websocket/frame.h"

namespace weir::websocket {

class FrameTracker {
 public:
  explicit FrameTracker(Sender sender) : sender_(sender) {}

  struct Step {
    // From the front of the bytes, to be passed on; at most to the end of one frame. 0: more bytes
    // are needed (what is left over is shorter than a frame header), or a violation.
    std::size_t size = 0;
    bool violated = false;
    Violation violation;
  };

  Step take(std::string_view bytes);

  // Whether the next byte begins a frame: a control frame may be put here.
  bool between_frames() const { return left_ == 0; }
  // Whether it also begins a message: any frame may be put here.
  bool between_messages() const { return left_ == 0 && !in_message_; }
  // Whether a close frame has begun: nothing may follow it.
  bool closed() const { return closed_; }

 private:
  Step violate(Violation violation);

  Sender sender_;
  std::uint64_t left_ = 0;  // of the frame's payload
  bool in_message_ = false;
  bool closed_ = false;
};

}  // namespace weir::websocket
