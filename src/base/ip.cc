#include "base/ip.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/decimal.h"
#include "base/hex.h"

namespace weir {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

constexpr std::uint8_t kMappedHead[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alnum(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A decimal number without sign or leading zeros, at most `max`.
std::optional<unsigned> parse_decimal(std::string_view text, unsigned max) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  if (value > max) return std::nullopt;
  return value;
}

// Four decimal octets into out[0..3], none with a sign or leading zeros.
bool parse_v4(std::string_view text, std::uint8_t* out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  // What is no digit, or behind the end, is more than 9.
  const auto digit = [&] { return at == end ? 10u : static_cast<unsigned>(*at) - unsigned{'0'}; };
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return false;
    unsigned octet = digit();
    if (octet > 9) return false;
    ++at;
    if (unsigned next = digit(); next <= 9) {
      if (octet == 0) return false;
      octet = octet * 10 + next;
      ++at;
      if (next = digit(); next <= 9) {
        octet = octet * 10 + next;
        ++at;
      }
    }
    if (octet > 255) return false;
    out[i] = static_cast<std::uint8_t>(octet);
  }
  return at == end;
}

// One to four hexadecimal digits from the front of `text`, which is moved past them.
std::optional<unsigned> take_group(std::string_view& text) {
  unsigned value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && hex_value(text[digits]) >= 0) {
    if (digits == 4) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(hex_value(text[digits++]));
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

// The groups of an IPv6 address as they are read.
struct Groups {
  Bytes bytes{};
  std::size_t filled = 0;  // bytes written
  std::size_t gap = 16;    // where "::" stands; 16: nowhere

  bool add(unsigned group) {
    if (filled + 2 > 16) return false;
    bytes[filled++] = static_cast<std::uint8_t>(group >> 8);
    bytes[filled++] = static_cast<std::uint8_t>(group & 0xff);
    return true;
  }
  bool add_v4(std::string_view text) {
    if (filled + 4 > 16 || !parse_v4(text, &bytes[filled])) return false;
    filled += 4;
    return true;
  }
  // Opens "::", which stands for at least one group.
  bool expand() {
    if (gap == 16) return filled == 16;
    if (filled == 16) return false;
    const auto moved = filled - gap;
    std::copy_backward(bytes.begin() + gap, bytes.begin() + filled, bytes.end());
    std::fill(bytes.begin() + gap, bytes.end() - moved, std::uint8_t{0});
    return true;
  }
};

std::optional<Bytes> parse_v6(std::string_view text) {
  Groups groups;
  if (text.substr(0, 2) == "::") {
    groups.gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const std::string_view rest = text;
    const auto group = take_group(text);
    if (!group) return std::nullopt;
    if (!text.empty() && text[0] == '.') {  // an IPv4 address in the last four bytes
      if (!groups.add_v4(rest)) return std::nullopt;
      break;
    }
    if (!groups.add(*group)) return std::nullopt;
    if (text.empty()) break;
    if (text[0] != ':') return std::nullopt;
    text.remove_prefix(1);
    if (text.empty()) return std::nullopt;  // ends in a single colon
    if (text[0] == ':') {
      if (groups.gap != 16 || groups.filled == 16) return std::nullopt;
      groups.gap = groups.filled;
      text.remove_prefix(1);
    }
  }
  if (!groups.expand()) return std::nullopt;
  return groups.bytes;
}

// Takes "%zone" off an IPv6 text. False when there is a zone and it is not one.
bool take_zone(std::string_view& text) {
  const std::size_t percent = text.find('%');
  if (percent == std::string_view::npos) return true;
  const std::string_view zone = text.substr(percent + 1);
  text = text.substr(0, percent);
  return !zone.empty() && std::all_of(zone.begin(), zone.end(), [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '~';
  });
}

// A port, or RFC 7239's hidden port: "_" and at least one of ALPHA DIGIT . _ -
bool is_port(std::string_view text) {
  if (text.size() < 2 || text[0] != '_') return parse_decimal(text, 65535).has_value();
  return std::all_of(text.begin() + 1, text.end(),
                     [](char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

void clear_after(Bytes& bytes, unsigned bits) {
  for (unsigned i = bits / 8; i < bytes.size(); ++i) {
    const unsigned kept = i == bits / 8 ? bits % 8 : 0;
    bytes[i] &= static_cast<std::uint8_t>(0xff00u >> kept);
  }
}

char* write_v4(char* out, const Bytes& bytes) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) *out++ = '.';
    out = write_decimal(out, bytes[i]);
  }
  return out;
}

// The longest run of at least two zero groups, the first of equals: [begin, end).
std::pair<int, int> longest_zero_run(const std::uint16_t (&groups)[8]) {
  std::pair<int, int> best{8, 8};
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i >= 2 && end - i > best.second - best.first) best = {i, end};
    i = end + 1;
  }
  return best;
}

char* write_v6(char* out, const Bytes& bytes) {
  std::uint16_t groups[8];
  for (int i = 0; i < 8; ++i) {
    groups[i] = static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  }
  const auto [begin, end] = longest_zero_run(groups);
  for (int i = 0; i < 8; ++i) {
    if (i == begin) {
      *out++ = ':';
      *out++ = ':';
      i = end - 1;
      continue;
    }
    if (i > 0 && i != end) *out++ = ':';
    out = std::to_chars(out, out + 4, groups[i], 16).ptr;
  }
  return out;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  IpAddress address;
  if (parse_v4(text, address.bytes_.data())) return address;
  if (text.find(':') == std::string_view::npos || !take_zone(text)) return std::nullopt;
  const auto bytes = parse_v6(text);
  if (!bytes) return std::nullopt;
  return v6(*bytes);
}

std::optional<IpAddress> IpAddress::parse_with_port(std::string_view text) {
  if (!text.empty() && text[0] == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inner = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (inner.find(':') == std::string_view::npos) return std::nullopt;
    if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    return parse(inner);
  }
  const std::size_t colon = text.find(':');
  const bool one_colon = colon != std::string_view::npos && colon == text.rfind(':');
  if (!one_colon) return parse(text);
  if (!is_port(text.substr(colon + 1))) return std::nullopt;
  return parse(text.substr(0, colon));
}

IpAddress IpAddress::v4(std::uint32_t host_order) {
  IpAddress address;
  for (int i = 0; i < 4; ++i) {
    address.bytes_[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return address;
}

IpAddress IpAddress::v6(const std::array<std::uint8_t, 16>& bytes) {
  IpAddress address;
  if (std::equal(std::begin(kMappedHead), std::end(kMappedHead), bytes.begin())) {
    std::copy(bytes.begin() + 12, bytes.end(), address.bytes_.begin());
    return address;
  }
  address.bytes_ = bytes;
  address.is_v4_ = false;
  return address;
}

bool IpAddress::is_loopback() const {
  if (is_v4_) return bytes_[0] == 127;
  std::array<std::uint8_t, 16> one{};
  one[15] = 1;
  return bytes_ == one;
}

IpAddress IpAddress::masked(unsigned bits) const {
  WEIR_CHECK(bits <= (is_v4_ ? 32u : 128u), "prefix lengths are checked when a policy is loaded");
  if (bits == (is_v4_ ? 32u : 128u)) return *this;
  IpAddress address = *this;
  clear_after(address.bytes_, bits);
  return address;
}

std::size_t IpAddress::write(char* out) const {
  const char* end = is_v4_ ? write_v4(out, bytes_) : write_v6(out, bytes_);
  return static_cast<std::size_t>(end - out);
}

std::string IpAddress::to_string() const {
  char text[kTextMax];
  return std::string(text, write(text));
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  IpPrefix prefix;
  unsigned width = 32;
  bool mapped = false;
  if (address.find(':') == std::string_view::npos) {
    const auto parsed = IpAddress::parse(address);
    if (!parsed) return std::nullopt;
    prefix.network_ = *parsed;
  } else {
    const auto bytes = parse_v6(address);
    if (!bytes) return std::nullopt;
    prefix.network_ = IpAddress::v6(*bytes);
    mapped = prefix.network_.is_v4();
    width = 128;
  }
  unsigned bits = width;
  if (slash != std::string_view::npos) {
    const auto parsed = parse_decimal(text.substr(slash + 1), width);
    if (!parsed) return std::nullopt;
    bits = *parsed;
  }
  // ::ffff:0:0 has bits set up to the 96th, so a shorter mapped block has host bits set.
  if (mapped && bits < 96) return std::nullopt;
  if (mapped) bits -= 96;
  prefix.bits_ = static_cast<std::uint8_t>(bits);
  if (!(prefix.network_.masked(bits) == prefix.network_)) return std::nullopt;
  return prefix;
}

bool IpPrefix::contains(const IpAddress& address) const {
  return address.is_v4() == network_.is_v4() && address.masked(bits_) == network_;
}

std::string IpPrefix::to_string() const {
  return network_.to_string() + '/' + std::to_string(bits_);
}

}  // namespace weir
