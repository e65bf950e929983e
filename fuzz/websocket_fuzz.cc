// A WebSocket connection, whole against byte by byte. The first byte says who sends, and how large
// a message may be.

#include "fuzz/support.h"
#include "wire/websocket/reader.h"

namespace {

using namespace weir;
using websocket::Event;

std::string describe(const Event& event, std::string& message) {
  const std::string payload(event.payload);
  switch (event.kind) {
    case Event::Kind::kNeedMore:
      return {};
    case Event::Kind::kMessage: {
      message += payload;
      if (!event.last) return {};
      std::string said = event.opcode == websocket::Opcode::kText ? "text " : "binary ";
      if (event.opcode == websocket::Opcode::kText) {
        fuzz::require(websocket::is_utf8(message), "text is UTF-8");
      }
      said += message + "\n";
      message.clear();
      return said;
    }
    case Event::Kind::kPing:
      return "ping " + payload + "\n";
    case Event::Kind::kPong:
      return "pong " + payload + "\n";
    case Event::Kind::kClose:
      return "close " + std::to_string(event.close_code) + payload + "\n";
    case Event::Kind::kViolation:
      return "violation " + std::to_string(static_cast<int>(event.violation.code)) + " " +
             std::string(event.violation.message);
  }
  return {};
}

std::string transcript(std::string_view text, std::size_t piece, websocket::Sender sender,
                       const websocket::ReaderLimits& limits) {
  websocket::Reader reader(sender, limits);
  std::string said;
  std::string message;
  std::size_t taken = 0;
  std::size_t given = 0;
  for (;;) {
    fuzz::Block block(text.substr(taken, given - taken));
    const Event event = reader.read(block.span());
    fuzz::require(event.consumed <= given - taken, "no more is consumed than there is");
    taken += event.consumed;
    said += describe(event, message);
    fuzz::require(message.size() <= limits.max_message_bytes, "messages are bounded");
    if (event.kind == Event::Kind::kViolation) return said;
    if (event.kind != Event::Kind::kNeedMore || event.consumed != 0) continue;
    fuzz::require(given - taken < websocket::kMaxFrameHeaderBytes, "what is left over is a header");
    if (given == text.size()) return said;
    given = std::min(text.size(), given + piece);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto sender = (data[0] & 1) != 0 ? websocket::Sender::kClient : websocket::Sender::kServer;
  const websocket::ReaderLimits limits{.max_message_bytes = static_cast<std::uint64_t>(data[0])};
  const std::string_view text = fuzz::text(data + 1, size - 1);
  fuzz::require_equal(transcript(text, size, sender, limits), transcript(text, 1, sender, limits),
                      "a connection says the same whole and byte by byte");
  return 0;
}
