// The opening handshake of WebSocket (RFC 6455 section 4), the server's side.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "wire/http1/request.h"

namespace weir::websocket {

// The field by which client and server agree on extensions, such as permessage-deflate.
inline constexpr std::string_view kExtensionsHeader = "sec-websocket-extensions";

// Whether a request asks for WebSocket: an upgrade whose Upgrade field names websocket. It may
// still be a wrong one.
bool is_handshake(const http1::RequestHead& head);

struct Handshake {
  int status = 101;          // 101 when right; else what to answer: 400, 405 or 426
  std::string_view message;  // why not; static text
  std::string_view key;      // Sec-WebSocket-Key, as sent

  explicit operator bool() const { return status == 101; }
};

// REQUIRES: is_handshake(head).
Handshake read_handshake(const http1::RequestHead& head);

// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string accept_key(std::string_view key);

// The header lines of the 101 response to a right handshake.
void append_handshake_headers(std::string& out, std::string_view key);

}  // namespace weir::websocket
