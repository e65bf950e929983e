#include "wire/http1/chunked.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/hex.h"
#include "wire/http1/characters.h"

namespace weir::http1 {

namespace {

constexpr std::uint8_t kMaxSizeDigits = 16;
constexpr std::uint32_t kMaxExtensionBytes = 256;  // of one chunk
constexpr std::uint32_t kMaxExtensionBytesOfBody = 16 * 1024;
constexpr std::uint32_t kMaxTrailers = 32;
constexpr std::uint32_t kMaxTrailerBytes = 8 * 1024;

// RFC 9110 section 6.5.1: a trailer may not frame, route or authenticate the message.
constexpr std::uint32_t kForbiddenTrailers =
    Headers::bit(HeaderId::kConnection) | Headers::bit(HeaderId::kContentLength) |
    Headers::bit(HeaderId::kContentType) | Headers::bit(HeaderId::kCookie) |
    Headers::bit(HeaderId::kExpect) | Headers::bit(HeaderId::kHost) |
    Headers::bit(HeaderId::kKeepAlive) | Headers::bit(HeaderId::kProxyAuthorization) |
    Headers::bit(HeaderId::kProxyConnection) | Headers::bit(HeaderId::kTe) |
    Headers::bit(HeaderId::kTrailer) | Headers::bit(HeaderId::kTransferEncoding) |
    Headers::bit(HeaderId::kUpgrade);

}  // namespace

ChunkedDecoder::Output ChunkedDecoder::decode(std::string_view data) {
  Output output;
  while (output.consumed < data.size() && state_ < State::kComplete) {
    const std::string_view rest = data.substr(output.consumed);
    if (state_ == State::kPayload) {
      output.payload =
          rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(size_, rest.size())));
      output.consumed += output.payload.size();
      decoded_ += output.payload.size();
      size_ -= output.payload.size();
      if (size_ == 0) state_ = State::kPayloadReturn;
      return output;
    }
    if (state_ == State::kTrailers) {
      output.consumed += take_trailers(rest);
      continue;
    }
    take_framing(rest[0]);
    if (state_ != State::kError) ++output.consumed;
  }
  if (state_ == State::kComplete) output.progress = Progress::kComplete;
  if (state_ == State::kError) output.progress = Progress::kError;
  return output;
}

void ChunkedDecoder::take_framing(char c) {
  switch (state_) {
    case State::kSize:
      return take_size(c);
    case State::kExtension:
      return take_extension(c);
    case State::kSizeLineFeed:
      if (c != '\n') return fail("carriage return without line feed after a chunk size");
      return end_size_line();
    case State::kPayloadReturn:
      return expect(c, '\r', State::kPayloadLineFeed, "chunk is longer than its size says");
    case State::kPayloadLineFeed:
      return expect(c, '\n', State::kSize, "carriage return without line feed after a chunk");
    default:
      return;
  }
}

void ChunkedDecoder::take_size(char c) {
  if (is(c, kHexDigit)) {
    if (++digits_ > kMaxSizeDigits) return fail("chunk size has more than 16 digits");
    size_ = size_ << 4 | static_cast<std::uint64_t>(hex_value(c));
    return;
  }
  if (digits_ == 0) return fail("chunk does not begin with a size in hexadecimal digits");
  if (size_ > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail("chunk size must be below 2^63");
  }
  if (c == '\r') {
    state_ = State::kSizeLineFeed;
  } else if (c == ';') {
    state_ = State::kExtension;
  } else {
    fail("chunk size must be hexadecimal digits and CR LF");
  }
}

void ChunkedDecoder::take_extension(char c) {
  if (c == '\r') {
    state_ = State::kSizeLineFeed;
    return;
  }
  if (!is(c, kFieldChar)) return fail("control byte in a chunk extension");
  ++extension_total_;
  if (++extension_bytes_ > kMaxExtensionBytes || extension_total_ > kMaxExtensionBytesOfBody) {
    fail("chunk extensions are too long; leave them out");
  }
}

void ChunkedDecoder::end_size_line() {
  state_ = size_ == 0 ? State::kTrailers : State::kPayload;
  digits_ = 0;
  extension_bytes_ = 0;
}

void ChunkedDecoder::expect(char c, char wanted, State next, std::string_view message) {
  if (c != wanted) return fail(message);
  state_ = next;
}

// Trailers are gathered, since they are read as one section. Nearly every body has none, and its
// last two bytes arrive together.
std::size_t ChunkedDecoder::take_trailers(std::string_view data) {
  if (!trailers_ && data.starts_with("\r\n")) {
    state_ = State::kComplete;
    return 2;
  }
  if (!trailers_) trailers_ = std::make_unique<Trailers>(kMaxTrailers);
  Trailers& trailers = *trailers_;
  const std::size_t before = trailers.bytes.size();
  trailers.bytes.append(data.substr(0, kMaxTrailerBytes - before));
  switch (trailers.fields.parse(trailers.bytes, trailers.position)) {
    case Progress::kComplete:
      check_trailers();
      break;
    case Progress::kError:
      fail(trailers.fields.error().message);
      break;
    case Progress::kNeedMore:
      if (trailers.bytes.size() == kMaxTrailerBytes) fail("trailers are longer than 8 KiB");
      break;
  }
  return trailers.position - before;
}

void ChunkedDecoder::check_trailers() {
  for (const Header header : trailers()) {
    if ((kForbiddenTrailers & Headers::bit(header.id)) != 0) {
      return fail("trailer that only the head of a message may carry");
    }
  }
  state_ = State::kComplete;
}

Headers ChunkedDecoder::trailers() const {
  if (!trailers_) return {};
  return trailers_->fields.headers(trailers_->bytes.data());
}

void ChunkedDecoder::fail(std::string_view message) {
  error_ = {400, message};
  state_ = State::kError;
}

void ChunkedDecoder::reset() {
  *this = ChunkedDecoder{};
}

ChunkHeader::ChunkHeader(std::uint64_t size) {
  WEIR_CHECK(size > 0, "a chunk of size 0 ends the body: write kLastChunk");
  char* const end = std::to_chars(bytes_.data(), bytes_.data() + 16, size, 16).ptr;
  end[0] = '\r';
  end[1] = '\n';
  length_ = static_cast<std::size_t>(end - bytes_.data()) + 2;
}

void append_chunk(std::string& out, std::string_view payload) {
  if (payload.empty()) return;
  out.append(ChunkHeader(payload.size()).view());
  out.append(payload);
  out.append(kChunkEnd);
}

}  // namespace weir::http1
