// The opening handshake of WebSocket, in any request's head and any response's: 101 only with a key
// that has an answer, and our own answer is accepted by who asked.

#include "fuzz/support.h"
#include "tests/support/websocket_client.h"
#include "wire/http1/request.h"
#include "wire/http1/response.h"
#include "wire/websocket/handshake.h"

namespace {

using namespace weir;

void check_response(std::string_view text, std::string_view key, bool must) {
  http1::ResponseParser parser;
  const bool read = parser.parse(text) == http1::Progress::kComplete;
  fuzz::require(!must || read, "our own answer can be read");
  if (read) {
    const bool accepted = support::accepts_handshake(parser.head(), key);
    fuzz::require(!must || accepted, "and is accepted");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block block(fuzz::text(data, size));
  check_response(block.view(), "dGhlIHNhbXBsZSBub25jZQ==", false);
  http1::RequestParser parser;
  if (parser.parse(block.view()) != http1::Progress::kComplete) return 0;
  if (!websocket::is_handshake(parser.head())) return 0;
  const websocket::Handshake handshake = websocket::read_handshake(parser.head());
  if (!handshake) {
    fuzz::require(handshake.status >= 400 && !handshake.message.empty(), "a refusal says why");
    return 0;
  }
  fuzz::require(websocket::accept_key(handshake.key).size() == 28, "20 bytes in base64");
  std::string answer = "HTTP/1.1 101 Switching Protocols\r\n";
  websocket::append_handshake_headers(answer, handshake.key);
  check_response(answer + "\r\n", handshake.key, true);
  return 0;
}
