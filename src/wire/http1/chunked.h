// Chunked bodies (RFC 9112 section 7.1): a decoder that yields the payload as views, and the
// headers of chunks for who sends.
//
//   chunk = size-in-hex [ ";" extension ] CRLF payload CRLF     last = "0" CRLF *trailer CRLF
//
// Strict: hexadecimal digits only, at most 16, below 2^63; CR LF everywhere; extensions are dropped
// and bounded, for a line and for the body (a byte of payload must not cost kilobytes to read);
// trailers are bounded, and may not say what only a head may say.
//
// THREADS: one decoder, one thread. Allocates only where trailers arrive, or the end is cut in two.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/http1/field_parser.h"
#include "wire/http1/headers.h"
#include "wire/http1/parse.h"

namespace weir::http1 {

class ChunkedDecoder {
 public:
  // One step: take `consumed` bytes off the front; `payload` (a view into them) belongs to the
  // body. kNeedMore with a payload or with bytes left over: decode on with the rest.
  struct Output {
    Progress progress = Progress::kNeedMore;
    std::size_t consumed = 0;
    std::string_view payload;
  };

  // ENSURES: consumed > 0, or progress is not kNeedMore, or data is empty.
  Output decode(std::string_view data);

  // Payload bytes so far.
  std::uint64_t decoded() const { return decoded_; }
  // REQUIRES: decode() answered kComplete. The views live until reset().
  Headers trailers() const;
  // REQUIRES: decode() answered kError. The status is for a request's body.
  const ParseError& error() const { return error_; }

  void reset();

 private:
  enum class State : std::uint8_t {
    kSize,
    kExtension,
    kSizeLineFeed,
    kPayload,
    kPayloadReturn,
    kPayloadLineFeed,
    kTrailers,
    kComplete,
    kError
  };
  struct Trailers {
    std::string bytes;
    std::uint32_t position = 0;
    FieldParser fields;
    explicit Trailers(std::uint32_t max_fields) : fields(max_fields) {}
  };

  void take_framing(char c);
  void take_size(char c);
  void take_extension(char c);
  void end_size_line();
  void expect(char c, char wanted, State next, std::string_view message);
  std::size_t take_trailers(std::string_view data);
  void check_trailers();
  void fail(std::string_view message);

  State state_ = State::kSize;
  std::uint8_t digits_ = 0;            // of the size being read
  std::uint32_t extension_bytes_ = 0;  // of the line being read
  std::uint32_t extension_total_ = 0;  // of the body
  std::uint64_t size_ = 0;             // being read; then what is left of the chunk
  std::uint64_t decoded_ = 0;
  std::unique_ptr<Trailers> trailers_;  // once a body has any
  ParseError error_;
};

inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";  // without trailers
inline constexpr std::string_view kLastChunkOpen = "0\r\n";  // then trailers and an empty line

// The line before a chunk's payload, for writers that gather: "1a2b\r\n".
class ChunkHeader {
 public:
  // REQUIRES: size > 0, since a chunk of size 0 ends the body.
  explicit ChunkHeader(std::uint64_t size);
  std::string_view view() const { return {bytes_.data(), length_}; }

 private:
  std::array<char, 18> bytes_;
  std::size_t length_ = 0;
};

// A whole chunk; nothing for an empty payload, which would end the body.
void append_chunk(std::string& out, std::string_view payload);

}  // namespace weir::http1
