// Addresses as policies write them: where to listen, whom to forward to.
//
// THREADS: pure functions.

#pragma once

#include <string_view>

#include "policy/policy.h"
#include "policy/scalar.h"

namespace weir::policy {

// "127.0.0.1:8080", "[::1]:8080", "example.org:80". Port 0 is any free one. An empty host is not
// allowed: to listen everywhere is written out.
// "unix:///run/weir.sock" is a unix socket.
Parsed<Address> parse_address(std::string_view text);

// "http://host[:port]", "https://host[:port]": no user, path or query. "unix:///path": HTTP over a
// unix socket.
Parsed<Upstream> parse_upstream(std::string_view text);

// Whether `text` is a DNS name or an IP address without brackets.
bool is_host(std::string_view text);

// Whether only this machine can reach the address.
bool is_loopback(const Address& address);

}  // namespace weir::policy
