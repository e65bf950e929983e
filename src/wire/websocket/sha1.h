// SHA-1 (FIPS 180-4), for the WebSocket handshake and for nothing else: it guards no secret there,
// it only shows that the peer speaks WebSocket.
//
// WHY: written here, since wire/ sees only base/; a hash function passed in would make each caller
// bring OpenSSL for twenty bytes that are always these.
//
// THREADS: a pure function.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::websocket {

std::array<std::uint8_t, 20> sha1(std::string_view message);

}  // namespace weir::websocket
