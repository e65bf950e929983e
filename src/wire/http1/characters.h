// Character classes of HTTP and the scans over them.
//
// One table says which byte may stand where (RFC 9110 section 5.6, RFC 3986); the scans stop at the
// first byte that may not. Letters are ASCII: no locale is ever asked.
//
// THREADS: pure functions.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http1 {

enum CharClass : std::uint8_t {
  kTokenChar = 1,      // of methods, header names, list tokens
  kTargetChar = 2,     // of a request target: visible ASCII but '#'
  kPlainHostChar = 4,  // of most hosts' names: letters, digits, - . _
  kFieldChar = 8,      // of a header's value: visible ASCII, bytes from 0x80, blank, tab
  kHexDigit = 16,      // of chunk sizes and percent-encodings
  kRegNameChar = 32,   // of a host's name (RFC 3986 section 3.2.2, without the comma)
  kDigit = 64,
};

namespace detail {

constexpr bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_one_of(int c, std::string_view set) {
  return c < 0x80 && set.find(static_cast<char>(c)) != std::string_view::npos;
}

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const bool alphanumeric = digit || is_letter(c);
    const bool visible = c > 0x20 && c < 0x7f;
    const bool hex = digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    unsigned bits = 0;
    if (alphanumeric || is_one_of(c, "!#$%&'*+-.^_`|~")) bits |= kTokenChar;
    if (visible && c != '#') bits |= kTargetChar;
    if (alphanumeric || is_one_of(c, "-._")) bits |= kPlainHostChar;
    if (visible || c >= 0x80 || c == ' ' || c == '\t') bits |= kFieldChar;
    if (hex) bits |= kHexDigit;
    if (alphanumeric || is_one_of(c, "-._~%!$&'()*+;=")) bits |= kRegNameChar;
    if (digit) bits |= kDigit;
    table[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(bits);
  }
  return table;
}

inline constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

}  // namespace detail

inline bool is(char c, CharClass wanted) {
  return (detail::kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

inline bool all_are(std::string_view text, CharClass wanted) {
  for (const char c : text) {
    if (!is(c, wanted)) return false;
  }
  return true;
}

// The first byte in [at, end) that is not of the class, or end.
inline const char* skip(const char* at, const char* end, CharClass wanted) {
  while (at != end && is(*at, wanted)) ++at;
  return at;
}

}  // namespace weir::http1
