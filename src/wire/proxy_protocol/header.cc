#include "wire/proxy_protocol/header.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::proxy_protocol {
namespace {

using Progress = Header::Progress;

constexpr std::string_view kSignature{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::string_view kWord = "PROXY ";
constexpr std::size_t kMaxLine = 107;
constexpr std::size_t kFixedBytes = 16;

Header error(std::string_view what) {
  return {Progress::kError, 0, std::nullopt, what};
}

bool begins_alike(std::string_view arrived, std::string_view start) {
  const std::size_t common = std::min(arrived.size(), start.size());
  return arrived.substr(0, common) == start.substr(0, common);
}

// Takes the next word off the line; empty where a blank is doubled, or the line is over.
std::string_view take_word(std::string_view& line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(std::min(blank + 1, line.size()));
  return word;
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[0] == '0')) return false;
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= 65535;
}

std::optional<IpAddress> parse_address(std::string_view text, bool v6) {
  if ((text.find(':') != text.npos) != v6 || text.find('%') != text.npos) return std::nullopt;
  return IpAddress::parse(text);
}

// TCP4 or TCP6 and what follows it.
Header parse_line(std::string_view line, std::size_t size) {
  const std::string_view family = take_word(line);
  if (family == "UNKNOWN") return {Progress::kComplete, size, std::nullopt, {}};
  const bool v6 = family == "TCP6";
  if (!v6 && family != "TCP4") return error("the family is none of TCP4, TCP6 and UNKNOWN");
  const auto source = parse_address(take_word(line), v6);
  const auto destination = parse_address(take_word(line), v6);
  if (!source || !destination) return error("an address is not one of its family");
  const std::string_view source_port = take_word(line);
  if (!is_port(source_port) || !is_port(line)) return error("a port is not a number up to 65535");
  return {Progress::kComplete, size, source, {}};
}

Header parse_v1(std::string_view arrived) {
  const std::size_t end = arrived.substr(0, kMaxLine).find("\r\n");
  if (end == arrived.npos) {
    if (arrived.size() >= kMaxLine) return error("the line has more than 107 bytes");
    return {};
  }
  if (end < kWord.size()) return error("the line names no family");
  return parse_line(arrived.substr(kWord.size(), end - kWord.size()), end + 2);
}

std::uint8_t byte_at(std::string_view text, std::size_t index) {
  return static_cast<std::uint8_t>(text[index]);
}

IpAddress read_v4(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | byte_at(bytes, i);
  return IpAddress::v4(value);
}

IpAddress read_v6(std::string_view bytes) {
  std::array<std::uint8_t, 16> copy;
  std::memcpy(copy.data(), bytes.data(), copy.size());
  return IpAddress::v6(copy);
}

// Of the bytes behind the fixed part, both addresses and both ports.
constexpr std::size_t kBlockV4 = 12;
constexpr std::size_t kBlockV6 = 36;

Header parse_block(std::uint8_t family, std::string_view block, std::size_t size) {
  switch (family) {
    case 0x11:  // TCP over IPv4
      if (block.size() < kBlockV4) return error("the addresses are cut short");
      return {Progress::kComplete, size, read_v4(block), {}};
    case 0x21:  // TCP over IPv6
      if (block.size() < kBlockV6) return error("the addresses are cut short");
      return {Progress::kComplete, size, read_v6(block), {}};
    case 0x00:  // unspecified
    case 0x31:  // a unix socket
      return {Progress::kComplete, size, std::nullopt, {}};
    default:
      return error("the protocol is not a stream");
  }
}

Header parse_v2(std::string_view arrived) {
  if (arrived.size() < kFixedBytes) return {};
  const std::uint8_t command = byte_at(arrived, 12);
  if (command >> 4 != 2) return error("the version is not 2");
  if ((command & 0xF) > 1) return error("the command is neither LOCAL nor PROXY");
  const std::size_t length = std::size_t{byte_at(arrived, 14)} << 8 | byte_at(arrived, 15);
  const std::size_t size = kFixedBytes + length;
  if (size > kMaxHeaderBytes) return error("the header has more than 4096 bytes");
  if (arrived.size() < size) return {};
  if ((command & 0xF) == 0) return {Progress::kComplete, size, std::nullopt, {}};
  return parse_block(byte_at(arrived, 13), arrived.substr(kFixedBytes, length), size);
}

}  // namespace

Header parse(std::string_view arrived) {
  if (begins_alike(arrived, kWord)) return parse_v1(arrived);
  if (begins_alike(arrived, kSignature)) return parse_v2(arrived);
  return error("the connection does not begin with a PROXY protocol header");
}

}  // namespace weir::proxy_protocol
