// The header by which a proxy in front of a TCP listener says whose connection it passes on: the
// PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt).
//
//   1   PROXY TCP4 203.0.113.9 192.0.2.1 56324 443 CR LF      at most 107 bytes
//   2   0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A                   signature
//       version and command, family and protocol, length (16 bits), addresses, extensions
//
// Strict: one blank between words, addresses in their only form, ports as plain numbers. LOCAL,
// UNKNOWN and families without an IP address say that the proxy speaks for itself. Extensions (TLV)
// are passed over. Datagrams, other versions and commands are errors.
//
// Pure: fed what has arrived, from the first byte on. THREADS: pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip.h"

namespace weir::proxy_protocol {

inline constexpr std::size_t kMaxHeaderBytes = 4096;  // of version 2, extensions and all

struct Header {
  enum class Progress : std::uint8_t { kNeedMore, kComplete, kError };

  Progress progress = Progress::kNeedMore;
  std::size_t size = 0;             // kComplete: its bytes; what follows is the connection's
  std::optional<IpAddress> source;  // kComplete: the client; none: the proxy itself
  std::string_view error;           // kError: what is wrong; static text
};

Header parse(std::string_view arrived);

}  // namespace weir::proxy_protocol
