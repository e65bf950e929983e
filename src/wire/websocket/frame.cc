#include "wire/websocket/frame.h"

#include <cstring>

#include "base/check.h"

namespace weir::websocket {

namespace {

constexpr std::uint8_t kFin = 0x80;
constexpr std::uint8_t kReserved = 0x70;
constexpr std::uint8_t kMasked = 0x80;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

FrameRead violation(std::string_view message) {
  FrameRead read;
  read.kind = FrameRead::Kind::kViolation;
  read.violation = {CloseCode::kProtocolError, message};
  return read;
}

bool is_known(unsigned opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

std::uint8_t byte_at(std::string_view data, std::size_t index) {
  return static_cast<std::uint8_t>(data[index]);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

std::size_t bytes_of_length(std::uint8_t short_length) {
  if (short_length == kLength64) return 8;
  return short_length == kLength16 ? 2 : 0;
}

// What the first two bytes show to be wrong, or nothing.
std::string_view fault_of_second_byte(const FrameHeader& header, std::uint8_t byte, Sender sender) {
  const bool masked = (byte & kMasked) != 0;
  if (masked && sender == Sender::kServer) return "frame of a server is masked";
  if (!masked && sender == Sender::kClient) return "frame of a client is not masked";
  if (!is_control(header.opcode)) return {};
  if (!header.fin) return "control frame is fragmented";
  if ((byte & ~kMasked) > kMaxControlPayload) return "control frame is longer than 125 bytes";
  return {};
}

}  // namespace

FrameRead read_frame_header(std::string_view data, Sender sender) {
  FrameRead read;
  if (data.empty()) return read;
  const std::uint8_t first = byte_at(data, 0);
  if ((first & kReserved) != 0) return violation("reserved bit is set and no extension agreed on");
  if (!is_known(first & 0x0f)) return violation("unknown opcode");
  read.header.fin = (first & kFin) != 0;
  read.header.opcode = static_cast<Opcode>(first & 0x0f);
  if (data.size() < 2) return read;

  const std::uint8_t second = byte_at(data, 1);
  const std::string_view fault = fault_of_second_byte(read.header, second, sender);
  if (!fault.empty()) return violation(fault);
  read.header.masked = (second & kMasked) != 0;
  read.header.length = second & ~kMasked;
  const std::size_t extra = bytes_of_length(static_cast<std::uint8_t>(read.header.length));
  if (data.size() < 2 + extra) return read;
  if (extra != 0) {
    read.header.length = big_endian(data.substr(2, extra));
    if (read.header.length >> 63 != 0) return violation("frame length has its highest bit set");
    const bool shortest = read.header.length > (extra == 2 ? kLength16 - 1u : 0xffffu);
    if (!shortest) return violation("frame length is not in its shortest form");
  }
  const std::size_t size = 2 + extra + (read.header.masked ? read.header.mask.size() : 0);
  if (data.size() < size) return read;
  if (read.header.masked) {
    std::memcpy(read.header.mask.data(), data.data() + 2 + extra, read.header.mask.size());
  }
  read.kind = FrameRead::Kind::kComplete;
  read.consumed = size;
  return read;
}

void append_frame_header(std::string& out, const FrameHeader& header) {
  WEIR_CHECK(header.length >> 63 == 0, "a frame is shorter than 2^63 bytes");
  out.push_back(static_cast<char>((header.fin ? kFin : 0) | static_cast<int>(header.opcode)));
  const int mask = header.masked ? kMasked : 0;
  if (header.length < kLength16) {
    out.push_back(static_cast<char>(mask | static_cast<int>(header.length)));
  } else if (header.length <= 0xffff) {
    out.push_back(static_cast<char>(mask | kLength16));
    append_big_endian(out, header.length, 2);
  } else {
    out.push_back(static_cast<char>(mask | kLength64));
    append_big_endian(out, header.length, 8);
  }
  if (header.masked) {
    out.append(reinterpret_cast<const char*>(header.mask.data()), header.mask.size());
  }
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
  FrameHeader header;
  header.length = payload.size();
  header.opcode = opcode;
  append_frame_header(out, header);
  out.append(payload);
}

void append_masked_frame(std::string& out, Opcode opcode, std::string_view payload,
                         const MaskKey& key, bool fin) {
  FrameHeader header;
  header.length = payload.size();
  header.opcode = opcode;
  header.fin = fin;
  header.masked = true;
  header.mask = key;
  append_frame_header(out, header);
  const std::size_t begin = out.size();
  out.append(payload);
  apply_mask({out.data() + begin, payload.size()}, key, 0);
}

std::string close_payload(CloseCode code, std::string_view reason) {
  if (code == CloseCode::kNoStatus) return {};
  if (reason.size() > kMaxControlPayload - 2) {
    std::size_t size = kMaxControlPayload - 2;
    while (size > 0 && (static_cast<std::uint8_t>(reason[size]) & 0xc0) == 0x80) --size;
    reason = reason.substr(0, size);
  }
  std::string payload;
  append_big_endian(payload, static_cast<std::uint16_t>(code), 2);
  payload.append(reason);
  return payload;
}

void append_close(std::string& out, CloseCode code, std::string_view reason) {
  append_frame(out, Opcode::kClose, close_payload(code, reason));
}

void apply_mask(std::span<char> bytes, const MaskKey& key, std::uint64_t offset) {
  std::array<std::uint8_t, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = key[(offset + i) % key.size()];
  std::uint64_t word_key;
  std::memcpy(&word_key, turned.data(), sizeof word_key);

  std::size_t at = 0;
  for (; bytes.size() - at >= sizeof word_key; at += sizeof word_key) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    word ^= word_key;
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  for (std::size_t i = 0; at < bytes.size(); ++at, ++i) {
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(turned[i]));
  }
}

bool may_be_sent(unsigned code) {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

}  // namespace weir::websocket
