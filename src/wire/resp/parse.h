// What both RESP parsers answer, and the shape of the wire (RESP2 and RESP3).
//
//   value = type-byte line CRLF                 + simple  - error  : integer  _ null  , double
//                                               # boolean  ( big number
//         / type-byte length CRLF bytes CRLF    $ bulk  ! bulk error  = verbatim
//         / type-byte count CRLF value*         * array  ~ set  > push  % map (count pairs)
//                                               | attribute (count pairs, then the value it is of)
//
// THREADS: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::resp {

enum class Progress : std::uint8_t {
  kNeedMore,  // right so far, and not at its end
  kComplete,
  kError,  // never to be fed again
};

// A line "123" of a length or count: digits only, so that "+5", " 5", "05x" are mistakes.
// Nothing where it is no number, or is above `max`.
std::optional<std::uint64_t> parse_length(std::string_view digits, std::uint64_t max);

// A line of a ':' value, as Redis writes it: an optional minus, then digits; within 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view line);

}  // namespace weir::resp
