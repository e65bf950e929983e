// gRPC over HTTP/2, the parts that are plain bytes: the frame around a message, the deadline that a
// client sends, and status texts.
//
//   message = compressed (1 byte, 0 or 1)  length (4 bytes, big-endian)  bytes
//   timeout = 1 to 8 digits  H | M | S | m | u | n
//
// THREADS: pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::grpc {

// The codes of gRPC that we use.
enum class Status : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

inline constexpr std::size_t kMessageHead = 5;

struct MessageHead {
  bool compressed = false;
  std::uint32_t size = 0;
};

// REQUIRES: at least kMessageHead bytes.
MessageHead read_message_head(std::string_view bytes);

// Appends the head of a message that is then written behind it; finish_message() fills its length
// in. Returns where the message begins.
std::size_t begin_message(std::string& out);
// ENSURES: false, and nothing changed, for more than 4 GiB.
bool finish_message(std::string& out, std::size_t at);

// Nothing for what is no timeout. A timeout beyond 292 years counts as that.
std::optional<Duration> parse_timeout(std::string_view text);

// Percent-encodes what may not stand in the header grpc-message.
std::string encode_status_message(std::string_view text);

}  // namespace weir::grpc
