// Utf8Validator: whether text that arrives in pieces is UTF-8 (RFC 3629): no overlong forms, no
// surrogates, nothing above U+10FFFF. A fault is told at the byte that makes it certain.
//
// THREADS: one validator, one thread.

#pragma once

#include <cstdint>
#include <string_view>

namespace weir::websocket {

class Utf8Validator {
 public:
  // False once a byte can not stand where it stands; then never fed again before reset().
  bool feed(std::string_view piece);
  // Whether the text may end here: not inside a character.
  bool complete() const { return missing_ == 0; }
  void reset() { missing_ = 0; }

 private:
  bool begin_character(std::uint8_t byte);

  std::uint8_t missing_ = 0;  // continuation bytes still to come
  std::uint8_t low_ = 0x80;   // what the next of them may be
  std::uint8_t high_ = 0xbf;
};

bool is_utf8(std::string_view text);

}  // namespace weir::websocket
