// Reader: one direction of a WebSocket connection, from bytes to messages.
//
// Checks everything that a receiver must (RFC 6455 sections 5 and 8.1): frames in order, control
// frames between fragments, text that is UTF-8 across fragments, close frames; and bounds what a
// message may hold. The payload of messages comes in pieces, as views into the caller's bytes,
// which are unmasked in place: nothing is copied or gathered but control frames (125 bytes).
//
// THREADS: one reader, one thread. Bounds: ReaderLimits.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/websocket/frame.h"
#include "wire/websocket/utf8.h"

namespace weir::websocket {

struct ReaderLimits {
  std::uint64_t max_message_bytes = 1024 * 1024;  // longer is 1009
};

struct Event {
  enum class Kind : std::uint8_t {
    kNeedMore,  // with bytes left over: call again with them and more behind
    kMessage,   // a piece of a message: `payload`, and `last` when the message ends with it
    kPing,      // `payload` to send back in a pong
    kPong,
    kClose,      // `close_code`, `payload` is the reason
    kViolation,  // close with violation.code; never fed again
  };

  Kind kind = Kind::kNeedMore;
  std::size_t consumed = 0;       // to take off the front, whatever the kind
  std::string_view payload;       // of kPing, kPong and kClose: lives until the next call
  Opcode opcode = Opcode::kText;  // of the message: kText or kBinary
  bool last = false;
  MaskKey mask{};              // of the frame that the payload stood in
  unsigned close_code = 1005;  // 1005: the frame had none
  Violation violation;
};

class Reader {
 public:
  explicit Reader(Sender sender, const ReaderLimits& limits = {})
      : sender_(sender), limits_(limits) {}

  // What the front of `bytes` holds. ENSURES: with kNeedMore, what is left over is shorter than a
  // frame header.
  Event read(std::span<char> bytes);

  // Whether what comes next, of which `bytes` is the front, is of a ping or a pong.
  bool ping_is_next(std::string_view bytes) const;

 private:
  enum class State : std::uint8_t { kHeader, kPayload, kFailed };

  Event begin_frame(std::string_view bytes);
  Event take_data(std::span<char> bytes);
  Event take_control(std::span<char> bytes);
  Event end_control();
  Event read_close(std::string_view payload);
  Event violate(CloseCode code, std::string_view message);

  Sender sender_;
  ReaderLimits limits_;
  State state_ = State::kHeader;
  bool in_message_ = false;
  Opcode message_opcode_ = Opcode::kText;
  std::uint64_t message_bytes_ = 0;
  FrameHeader frame_;
  std::uint64_t frame_taken_ = 0;  // payload bytes of the frame so far
  Utf8Validator text_;
  std::array<char, kMaxControlPayload> control_;
};

}  // namespace weir::websocket
