#include "wire/grpc/message.h"

#include <limits>

#include "base/hex.h"
#include "base/seconds.h"

namespace weir::grpc {
namespace {

std::int64_t unit_ns(char unit) {
  switch (unit) {
    case 'H':
      return 3'600 * kNsPerSecond;
    case 'M':
      return 60 * kNsPerSecond;
    case 'S':
      return kNsPerSecond;
    case 'm':
      return kNsPerMs;
    case 'u':
      return kNsPerUs;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

}  // namespace

MessageHead read_message_head(std::string_view bytes) {
  MessageHead head;
  head.compressed = bytes[0] != 0;
  for (std::size_t i = 1; i < kMessageHead; ++i) {
    head.size = head.size << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return head;
}

std::size_t begin_message(std::string& out) {
  out.append(kMessageHead, '\0');
  return out.size();
}

bool finish_message(std::string& out, std::size_t at) {
  const std::size_t size = out.size() - at;
  if (size > std::numeric_limits<std::uint32_t>::max()) return false;
  for (std::size_t i = 0; i < 4; ++i) out[at - 1 - i] = static_cast<char>(size >> (8 * i));
  return true;
}

std::optional<Duration> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  const std::int64_t unit = unit_ns(text.back());
  if (unit == 0) return std::nullopt;
  if (value > std::numeric_limits<std::int64_t>::max() / unit) return Duration::max();
  return Duration(value * unit);
}

std::string encode_status_message(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '%') {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex_byte(out, c, kUpperHexDigits);
    }
  }
  return out;
}

}  // namespace weir::grpc
