// Hexadecimal digits, written and read.
//
// THREADS: pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir {

inline constexpr char kHexDigits[] = "0123456789abcdef";
inline constexpr char kUpperHexDigits[] = "0123456789ABCDEF";  // as URLs and nginx's logs have them

// Appends the two digits of a byte.
template <typename Text>
void append_hex_byte(Text& out, char byte, const char* digits = kHexDigits) {
  const auto value = static_cast<unsigned char>(byte);
  out += digits[value >> 4];
  out += digits[value & 15];
}

// Appends all sixteen digits, zeros in front too.
inline void append_hex(std::string& out, std::uint64_t value) {
  char text[16];
  for (int i = 0; i < 16; ++i) text[i] = kHexDigits[value >> (60 - 4 * i) & 15];
  out.append(text, sizeof text);
}

// Appends two digits a byte: a digest.
inline void append_hex(std::string& out, std::span<const unsigned char> bytes) {
  for (const unsigned char byte : bytes) append_hex_byte(out, static_cast<char>(byte));
}

// What a digit of either case stands for; -1 for what is none.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that the two digits at text[at] stand for; -1 where there are not two.
constexpr int hex_byte(std::string_view text, std::size_t at) {
  if (at + 2 > text.size()) return -1;
  const int high = hex_value(text[at]);
  const int low = hex_value(text[at + 1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace weir
