// IP addresses: parsing, formatting, prefixes. By bits and never by spelling: an IPv4-mapped IPv6
// address is the IPv4 address.
//
// THREADS: plain values.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class IpAddress {
 public:
  // One address and nothing else: no port, brackets or blanks. A zone id (fe80::1%eth0) is taken
  // off; leading zeros in IPv4 (01.02.03.04) and short forms (1.2.3) are not addresses.
  static std::optional<IpAddress> parse(std::string_view text);
  // An address as proxies write it: "203.0.113.9:4711", "[2001:db8::1]:443", "[2001:db8::1]". The
  // port may be one of RFC 7239's hidden ones ("_p"); it is checked and dropped.
  static std::optional<IpAddress> parse_with_port(std::string_view text);
  static IpAddress v4(std::uint32_t host_order);
  static IpAddress v6(const std::array<std::uint8_t, 16>& bytes);  // mapped IPv4 becomes IPv4

  bool is_v4() const { return is_v4_; }
  bool is_loopback() const;  // 127.0.0.0/8 or ::1
  // 4 or 16 significant bytes, network order, from the front.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  // The first `bits` bits, the rest zero. REQUIRES: bits <= 32 for IPv4, <= 128 for IPv6.
  IpAddress masked(unsigned bits) const;

  static constexpr std::size_t kTextMax = 39;  // the longest canonical text
  // Writes the canonical text (RFC 5952) to `out`, not terminated, and says how long it is.
  // REQUIRES: room for kTextMax bytes.
  std::size_t write(char* out) const;
  std::string to_string() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  bool is_v4_ = true;
};

// A CIDR block. A mapped IPv4 block of at least 96 bits is the IPv4 block.
class IpPrefix {
 public:
  // "10.0.0.0/8", "2001:db8::/32", or a bare address (its full length). Host bits must be zero.
  static std::optional<IpPrefix> parse(std::string_view text);
  bool contains(const IpAddress& address) const;
  std::string to_string() const;

  const IpAddress& network() const { return network_; }
  unsigned bits() const { return bits_; }

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;

 private:
  IpAddress network_;
  std::uint8_t bits_ = 0;
};

}  // namespace weir
