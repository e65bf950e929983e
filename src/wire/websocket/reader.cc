#include "wire/websocket/reader.h"

#include <algorithm>
#include <cstring>

namespace weir::websocket {

Event Reader::read(std::span<char> bytes) {
  Event event;
  std::size_t consumed = 0;
  if (state_ == State::kFailed) return violate(CloseCode::kProtocolError, "read after a violation");
  if (state_ == State::kHeader) {
    event = begin_frame({bytes.data(), bytes.size()});
    if (state_ != State::kPayload) return event;
    consumed = event.consumed;
    bytes = bytes.subspan(consumed);
  }
  event = is_control(frame_.opcode) ? take_control(bytes) : take_data(bytes);
  event.consumed += consumed;
  return event;
}

bool Reader::ping_is_next(std::string_view bytes) const {
  const auto is_ping = [](Opcode opcode) {
    return opcode == Opcode::kPing || opcode == Opcode::kPong;
  };
  if (state_ == State::kPayload) return is_ping(frame_.opcode);
  return state_ == State::kHeader && !bytes.empty() &&
         is_ping(static_cast<Opcode>(static_cast<std::uint8_t>(bytes[0]) & 0x0f));
}

Event Reader::begin_frame(std::string_view bytes) {
  const FrameRead read = read_frame_header(bytes, sender_);
  if (read.kind == FrameRead::Kind::kNeedMore) return {};
  if (read.kind == FrameRead::Kind::kViolation) {
    return violate(read.violation.code, read.violation.message);
  }
  frame_ = read.header;
  frame_taken_ = 0;
  if (!is_control(frame_.opcode)) {
    const bool continues = frame_.opcode == Opcode::kContinuation;
    if (continues && !in_message_) {
      return violate(CloseCode::kProtocolError, "continuation without a message");
    }
    if (!continues && in_message_) {
      return violate(CloseCode::kProtocolError, "new message inside a fragmented one");
    }
    if (!continues) {
      in_message_ = true;
      message_opcode_ = frame_.opcode;
      message_bytes_ = 0;
      text_.reset();
    }
    if (frame_.length > limits_.max_message_bytes - message_bytes_) {
      return violate(CloseCode::kTooBig, "message is too big");
    }
    message_bytes_ += frame_.length;
  }
  state_ = State::kPayload;
  Event event;
  event.consumed = read.consumed;
  return event;
}

Event Reader::take_data(std::span<char> bytes) {
  Event event;
  const std::uint64_t left = frame_.length - frame_taken_;
  const std::span<char> piece =
      bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size())));
  if (piece.empty() && left != 0) return event;
  if (frame_.masked) apply_mask(piece, frame_.mask, frame_taken_);
  frame_taken_ += piece.size();
  event.kind = Event::Kind::kMessage;
  event.consumed = piece.size();
  event.payload = {piece.data(), piece.size()};
  event.opcode = message_opcode_;
  event.mask = frame_.mask;
  const bool frame_ends = frame_taken_ == frame_.length;
  event.last = frame_ends && frame_.fin;
  if (message_opcode_ == Opcode::kText) {
    const bool right = text_.feed(event.payload) && (!event.last || text_.complete());
    if (!right) return violate(CloseCode::kInvalidPayload, "text is not UTF-8");
  }
  if (frame_ends) state_ = State::kHeader;
  if (event.last) in_message_ = false;
  return event;
}

Event Reader::take_control(std::span<char> bytes) {
  const std::size_t left = static_cast<std::size_t>(frame_.length - frame_taken_);
  const std::span<char> piece = bytes.first(std::min(left, bytes.size()));
  if (!piece.empty()) std::memcpy(control_.data() + frame_taken_, piece.data(), piece.size());
  frame_taken_ += piece.size();
  Event event;
  if (frame_taken_ == frame_.length) event = end_control();
  event.consumed = piece.size();
  return event;
}

Event Reader::end_control() {
  const std::span<char> payload(control_.data(), static_cast<std::size_t>(frame_.length));
  if (frame_.masked) apply_mask(payload, frame_.mask, 0);
  state_ = State::kHeader;
  Event event;
  event.mask = frame_.mask;
  event.payload = {payload.data(), payload.size()};
  if (frame_.opcode == Opcode::kClose) return read_close(event.payload);
  event.kind = frame_.opcode == Opcode::kPing ? Event::Kind::kPing : Event::Kind::kPong;
  return event;
}

Event Reader::read_close(std::string_view payload) {
  Event event;
  event.kind = Event::Kind::kClose;
  event.mask = frame_.mask;
  if (payload.empty()) return event;
  if (payload.size() == 1) {
    return violate(CloseCode::kProtocolError, "close frame of one byte");
  }
  event.close_code = static_cast<unsigned>(static_cast<std::uint8_t>(payload[0])) << 8 |
                     static_cast<std::uint8_t>(payload[1]);
  if (!may_be_sent(event.close_code)) {
    return violate(CloseCode::kProtocolError, "close code that may not be sent");
  }
  event.payload = payload.substr(2);
  if (!is_utf8(event.payload)) {
    return violate(CloseCode::kInvalidPayload, "close reason is not UTF-8");
  }
  return event;
}

Event Reader::violate(CloseCode code, std::string_view message) {
  state_ = State::kFailed;
  Event event;
  event.kind = Event::Kind::kViolation;
  event.violation = {code, message};
  return event;
}

}  // namespace weir::websocket
