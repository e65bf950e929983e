// store.url: where Redis is, and who we are there.
//
//   redis://[user[:password]@]host[:6379][/db]         rediss:// the same over TLS
//   redis+cluster://[user[:password]@]host[:port],...   rediss+cluster://
//   redis+sentinel://[user[:password]@]host[:26379],.../name[/db][?sentinel_tls=on|off]
//                                                       rediss+sentinel://
//   redis+unix://[user[:password]@]/path[?db=n]
//
// User and password are percent-decoded, and '+' stays '+'. Whatever is said of a URL, its password
// is not in it: error messages name the part that is wrong, and masked() is what may be shown.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::store::redis {

// A server's address; `port` 0 is a Unix socket, whose path `host` then is.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  std::string to_string() const;  // "[2001:db8::1]:6379"
  friend bool operator==(const Address&, const Address&) = default;
  friend auto operator<=>(const Address&, const Address&) = default;
};

enum class Topology : std::uint8_t { kSingle, kCluster, kSentinel };

struct Url {
  Topology topology = Topology::kSingle;
  std::vector<Address> addresses;  // at least one
  std::string username;
  std::string password;
  std::string master;  // Sentinel's name for it
  std::uint32_t database = 0;
  bool tls = false;
  bool sentinel_tls = false;
};

// ERRORS: kInvalid.
Result<Url> parse_url(std::string_view text);

// The URL with "***" for its password.
std::string masked(std::string_view url);

}  // namespace weir::store::redis
