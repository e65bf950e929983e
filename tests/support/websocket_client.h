// What a client of WebSocket checks in the answer to its handshake (RFC 6455 section 4.1).
//
// THREADS: a pure function.

#pragma once

#include <string_view>

#include "wire/http1/response.h"
#include "wire/websocket/handshake.h"

namespace weir::support {

// Whether a server's response accepts the handshake that was sent with `key`.
inline bool accepts_handshake(const http1::ResponseHead& head, std::string_view key) {
  if (!head.switches_protocols()) return false;
  if (!head.headers.lists(http1::HeaderId::kConnection, "upgrade")) return false;
  if (!head.headers.lists(http1::HeaderId::kUpgrade, "websocket")) return false;
  const http1::Found accept = head.headers.find("sec-websocket-accept");
  return accept.count == 1 && accept.value == websocket::accept_key(key);
}

}  // namespace weir::support
