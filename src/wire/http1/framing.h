// Framing: where the body of a message ends (RFC 9112 section 6.3), read so that no two readers can
// disagree. Two lengths, even equal ones, a length beside Transfer-Encoding, and any
// Transfer-Encoding but one plain `chunked` are refused.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/http1/headers.h"
#include "wire/http1/parse.h"

namespace weir::http1 {

struct Body {
  enum class Kind : std::uint8_t {
    kNone,
    kLength,
    kChunked,
    kUntilClose,  // responses only
  };

  Kind kind = Kind::kNone;
  std::uint64_t length = 0;  // of kLength, never 0 there
};

// A Content-Length: digits only, at most 2^63 - 1.
std::optional<std::uint64_t> parse_length(std::string_view text);

// What Content-Length and Transfer-Encoding say; `fallback` when neither stands there. Nothing when
// they are wrong, and then `error` says how (with the status a server answers).
std::optional<Body> read_framing(const Headers& headers, int minor_version, Body::Kind fallback,
                                 ParseError& error);

}  // namespace weir::http1
