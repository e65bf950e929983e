#include "wire/websocket/handshake.h"

#include <cstdint>
#include <span>

#include "wire/http1/characters.h"
#include "wire/http1/writer.h"
#include "wire/websocket/sha1.h"

namespace weir::websocket {

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kKeyBytes = 24;  // 16 random bytes in base64

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < given ? bytes[at + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) {
      text.push_back(i <= given ? kBase64[group >> (18 - 6 * i) & 0x3f] : '=');
    }
  }
  return text;
}

// 22 digits and "==": the last digit's spare bits are not looked at, as no server does.
bool is_key(std::string_view key) {
  if (key.size() != kKeyBytes || !key.ends_with("==")) return false;
  return key.substr(0, kKeyBytes - 2).find_first_not_of(kBase64) == std::string_view::npos;
}

}  // namespace

bool is_handshake(const http1::RequestHead& head) {
  return head.upgrade && head.headers.lists(http1::HeaderId::kUpgrade, "websocket");
}

Handshake read_handshake(const http1::RequestHead& head) {
  if (head.method != "GET") return {405, "a websocket handshake must be a GET", {}};
  if (head.body.kind != http1::Body::Kind::kNone) {
    return {400, "a websocket handshake has no body", {}};
  }
  const http1::Found version = head.headers.find("sec-websocket-version");
  if (!version) return {400, "sec-websocket-version is missing", {}};
  if (version.repeated() || version.value != "13") {
    return {426, "only sec-websocket-version 13 is spoken here", {}};
  }
  const http1::Found key = head.headers.find("sec-websocket-key");
  if (key.count != 1 || !is_key(key.value)) {
    return {400, "sec-websocket-key must stand once and be 16 bytes in base64", {}};
  }
  return {101, {}, key.value};
}

std::string accept_key(std::string_view key) {
  std::string text(key);
  text.append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11");  // RFC 6455 section 1.3
  return base64(sha1(text));
}

void append_handshake_headers(std::string& out, std::string_view key) {
  http1::append_parsed_header(out, "Upgrade", "websocket");
  http1::append_parsed_header(out, "Connection", "Upgrade");
  http1::append_parsed_header(out, "Sec-WebSocket-Accept", accept_key(key));
}

}  // namespace weir::websocket
