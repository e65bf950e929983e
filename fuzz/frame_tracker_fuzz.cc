// Frames of one direction of a WebSocket connection: whole against byte by byte, and against the
// reader, which looks at the payload too. The first byte says who sends.

#include "fuzz/support.h"
#include "wire/websocket/frame_tracker.h"
#include "wire/websocket/reader.h"

namespace {

using namespace weir;

// Where messages may begin, what closed, and the violation that ended it.
std::string places(std::string_view text, std::size_t piece, websocket::Sender sender) {
  websocket::FrameTracker tracker(sender);
  std::string said;
  std::size_t taken = 0;
  std::size_t given = 0;
  for (;;) {
    const fuzz::Block block(text.substr(taken, given - taken));
    const auto step = tracker.take(block.view());
    fuzz::require(step.size <= given - taken, "no more is taken than there is");
    taken += step.size;
    if (step.violated) {
      return said + "violation at " + std::to_string(taken) + std::string(step.violation.message);
    }
    if (step.size != 0) {
      if (tracker.between_messages()) said += "message at " + std::to_string(taken) + "\n";
      if (tracker.closed() && tracker.between_frames()) said += "closed\n";
      continue;
    }
    fuzz::require(given - taken < websocket::kMaxFrameHeaderBytes, "what is left over is a header");
    if (given == text.size()) return said;
    given = std::min(text.size(), given + piece);
  }
}

// Whether the reader, which checks more, finds nothing wrong up to a close frame.
bool reads(std::string_view text, websocket::Sender sender) {
  websocket::Reader reader(sender, {.max_message_bytes = UINT64_MAX});
  fuzz::Block block(text);
  for (std::span<char> rest = block.span();;) {
    const websocket::Event event = reader.read(rest);
    rest = rest.subspan(event.consumed);
    if (event.kind == websocket::Event::Kind::kViolation) return false;
    if (event.kind == websocket::Event::Kind::kClose) return rest.empty();
    if (event.kind == websocket::Event::Kind::kNeedMore && event.consumed == 0) return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto sender = (data[0] & 1) != 0 ? websocket::Sender::kClient : websocket::Sender::kServer;
  const std::string_view text = fuzz::text(data + 1, size - 1);
  const std::string whole = places(text, text.size(), sender);
  fuzz::require_equal(whole, places(text, 1, sender), "the same whole and byte by byte");
  if (reads(text, sender)) {
    fuzz::require(whole.find("violation") == std::string::npos, "what can be read is passed on");
  }
  return 0;
}
