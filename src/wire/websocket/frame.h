// Frames of WebSocket (RFC 6455 section 5.2): headers read and written, payload masked.
//
//   byte 0      FIN(1) RSV(3) opcode(4)
//   byte 1      MASK(1) length(7): below 126 itself; 126: the next 2 bytes; 127: the next 8
//   then        a masking key of 4 bytes when MASK is set, and the payload
//
// Strict: the shortest form of a length, no reserved bits (no extension is ever agreed on), known
// opcodes, control frames whole and at most 125 bytes, masks where the role demands them.
//
// THREADS: pure functions.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::websocket {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

inline bool is_control(Opcode opcode) {
  return static_cast<unsigned>(opcode) >= 8;
}

// Why a connection ends (RFC 6455 section 7.4.1).
enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kUnsupportedData = 1003,
  kNoStatus = 1005,  // never sent: a close frame without a code
  kInvalidPayload = 1007,
  kPolicyViolation = 1008,
  kTooBig = 1009,
  kInternalError = 1011,
  kTryAgainLater = 1013,
  kBadGateway = 1014,
};

// Who sent the frame: a client masks, a server never does.
enum class Sender : std::uint8_t { kClient, kServer };

struct Violation {
  CloseCode code = CloseCode::kProtocolError;
  std::string_view message;  // static text, lower case, short enough for a close frame
};

using MaskKey = std::array<std::uint8_t, 4>;

struct FrameHeader {
  std::uint64_t length = 0;
  MaskKey mask{};
  Opcode opcode = Opcode::kText;
  bool fin = true;
  bool masked = false;
};

inline constexpr std::size_t kMaxFrameHeaderBytes = 14;
inline constexpr std::size_t kMaxControlPayload = 125;

struct FrameRead {
  enum class Kind : std::uint8_t { kNeedMore, kComplete, kViolation };

  Kind kind = Kind::kNeedMore;
  std::size_t consumed = 0;  // of the header, when complete
  FrameHeader header;
  Violation violation;
};

// Reads a header from the front of `data`. Cheap enough to be called again when more has arrived.
// A violation is told as soon as a byte shows it.
FrameRead read_frame_header(std::string_view data, Sender sender);

// REQUIRES: header.length < 2^63.
void append_frame_header(std::string& out, const FrameHeader& header);
// One frame. A server's is not masked; a client's key must be unpredictable. `fin`: the message
// ends with it.
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
void append_masked_frame(std::string& out, Opcode opcode, std::string_view payload,
                         const MaskKey& key, bool fin = true);
// What a close frame holds; nothing for kNoStatus. A reason longer than fits is cut between
// characters.
std::string close_payload(CloseCode code, std::string_view reason);
// A close frame of a server.
void append_close(std::string& out, CloseCode code, std::string_view reason);

// Masks or unmasks in place; `offset` is where in the frame's payload `bytes` begins.
void apply_mask(std::span<char> bytes, const MaskKey& key, std::uint64_t offset);

// Whether a peer may send this code in a close frame.
bool may_be_sent(unsigned code);

}  // namespace weir::websocket
