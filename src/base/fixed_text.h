// FixedText: text of a bounded size, put together in place and then appended somewhere in one
// piece.
//
// WHY not the string itself: an answer is put together of some eighty pieces, and a string looks at
// its room and calls memcpy for each; here a literal is a few moves.
//
// THREADS: plain values.

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace weir {

template <std::size_t kRoom>
class FixedText {
 public:
  // REQUIRES: the text fits.
  [[gnu::always_inline]] FixedText& operator+=(std::string_view text) {
    WEIR_CHECK(text.size() <= kRoom - size_, "a piece of text keeps to the bound of its kind");
    std::memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  FixedText& operator+=(char c) {
    WEIR_CHECK(size_ < kRoom, "a piece of text keeps to the bound of its kind");
    text_[size_++] = c;
    return *this;
  }
  void add_number(std::uint64_t value) {
    if (value < 10) {
      *this += static_cast<char>('0' + value);
      return;
    }
    const auto [end, error] = std::to_chars(text_ + size_, text_ + kRoom, value);
    WEIR_CHECK(error == std::errc(), "a piece of text keeps to the bound of its kind");
    size_ = static_cast<std::size_t>(end - text_);
  }

  std::string_view view() const { return {text_, size_}; }

 private:
  std::size_t size_ = 0;
  char text_[kRoom];
};

}  // namespace weir
