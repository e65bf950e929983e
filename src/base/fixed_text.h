// FixedText: text of a bounded size, put together in place and then appended somewhere in one
// piece.
//
// WHY not the string itself: an answer is put together of some eighty pieces, and a string looks at
// its room and calls memcpy for each; here a literal is a few moves.
//
// THREADS: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/decimal.h"

namespace weir {

template <std::size_t kRoom>
class FixedText {
 public:
  static constexpr std::size_t kBytes = kRoom;

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
    WEIR_CHECK(kRoom - size_ >= decimal_digits(value),
               "a piece of text keeps to the bound of its kind");
    size_ = static_cast<std::size_t>(write_decimal(text_ + size_, value) - text_);
  }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {text_, size_}; }

 private:
  std::size_t size_ = 0;
  char text_[kRoom];
};

}  // namespace weir
