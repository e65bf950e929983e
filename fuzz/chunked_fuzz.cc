// A chunked body, whole against byte by byte; and its payload, chunked anew and decoded again.

#include "fuzz/support.h"
#include "wire/http1/chunked.h"

namespace {

using namespace weir;

struct Decoded {
  std::string payload;
  std::string end;
  bool complete = false;
};

Decoded decode(std::string_view text, std::size_t piece) {
  http1::ChunkedDecoder decoder;
  Decoded decoded;
  std::size_t taken = 0;
  std::size_t given = 0;
  for (;;) {
    const fuzz::Block block(text.substr(taken, given - taken));
    const auto output = decoder.decode(block.view());
    taken += output.consumed;
    decoded.payload.append(output.payload);
    fuzz::require(decoder.decoded() == decoded.payload.size(), "payload is counted");
    if (output.progress == http1::Progress::kError) {
      decoded.end = decoder.error().message;
      return decoded;
    }
    if (output.progress == http1::Progress::kComplete) {
      decoded.complete = true;
      decoded.end = std::to_string(taken) + "\n";
      for (const http1::Header header : decoder.trailers()) {
        fuzz::append_part(decoded.end, header.name, header.value);
      }
      return decoded;
    }
    if (output.consumed != 0) continue;
    fuzz::require(taken == given, "nothing is left over while more is needed");
    if (given == text.size()) return decoded;
    given = std::min(text.size(), given + piece);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text(data, size);
  const Decoded whole = decode(text, size + 1);
  const Decoded bytewise = decode(text, 1);
  fuzz::require_equal(whole.payload, bytewise.payload, "the payload is the same byte by byte");
  fuzz::require_equal(whole.end, bytewise.end, "the end is the same byte by byte");

  std::string again;
  http1::append_chunk(again, whole.payload);
  again.append(http1::kLastChunk);
  const Decoded second = decode(again, 7);
  fuzz::require(second.complete, "what we chunk is decoded");
  fuzz::require_equal(second.payload, whole.payload, "what we chunk is what comes out");
  return 0;
}
