#include "wire/websocket/utf8.h"

#include <cstring>

namespace weir::websocket {

namespace {

// Past the ASCII that stands in front, eight bytes at a time.
const char* skip_ascii(const char* at, const char* end) {
  while (end - at >= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
    at += 8;
  }
  while (at != end && static_cast<std::uint8_t>(*at) < 0x80) ++at;
  return at;
}

}  // namespace

bool Utf8Validator::feed(std::string_view piece) {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  while (at != end) {
    if (missing_ == 0) {
      at = skip_ascii(at, end);
      if (at == end) return true;
      if (!begin_character(static_cast<std::uint8_t>(*at))) return false;
    } else {
      const auto byte = static_cast<std::uint8_t>(*at);
      if (byte < low_ || byte > high_) return false;
      low_ = 0x80;
      high_ = 0xbf;
      --missing_;
    }
    ++at;
  }
  return true;
}

// The first continuation byte is narrowed where the leading byte alone would let in overlong forms
// (e0, f0), surrogates (ed) and what lies above U+10FFFF (f4).
bool Utf8Validator::begin_character(std::uint8_t byte) {
  low_ = 0x80;
  high_ = 0xbf;
  if (byte >= 0xc2 && byte <= 0xdf) {
    missing_ = 1;
  } else if (byte >= 0xe0 && byte <= 0xef) {
    missing_ = 2;
    if (byte == 0xe0) low_ = 0xa0;
    if (byte == 0xed) high_ = 0x9f;
  } else if (byte >= 0xf0 && byte <= 0xf4) {
    missing_ = 3;
    if (byte == 0xf0) low_ = 0x90;
    if (byte == 0xf4) high_ = 0x8f;
  } else {
    return false;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  Utf8Validator validator;
  return validator.feed(text) && validator.complete();
}

}  // namespace weir::websocket
