// TextCursor: text put together piece by piece in room that its owner has measured beforehand.
//
// WHY beside FixedText: that one looks at its room for every piece and keeps its size in memory,
// which is most of the work where an answer has sixty pieces of a dozen bytes. Here a literal is a
// few moves. So the owner must know the most that can come, and have kRoomBehind bytes more:
// numbers are stored in words, whose bytes behind the last digit mean nothing.
//
// THREADS: plain values.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/decimal.h"
#include "base/seconds.h"
#include "weir/time.h"

namespace weir {

namespace detail {

// The eight digits of a number below 10^8, the first of them in the lowest byte, as numbers from 0
// to 9: split in halves, those in halves again, each division a multiplication.
constexpr std::uint64_t eight_digits(std::uint64_t value) {
  std::uint64_t fours = value / 10'000;
  fours |= (value - fours * 10'000) << 32;
  const std::uint64_t hundreds = fours * 10'486 >> 20 & 0x0000007f'0000007f;
  const std::uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
  const std::uint64_t tens = pairs * 103 >> 10 & 0x000f000f'000f000f;
  return tens | (pairs - tens * 10) << 8;
}

inline constexpr std::uint64_t kEightZeros = 0x30303030'30303030;

inline void store_little(char* to, std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  std::memcpy(to, &word, sizeof word);
}

}  // namespace detail

class TextCursor {
 public:
  static constexpr std::size_t kRoomBehind = 8;
  static constexpr std::size_t kMaxSeconds = 20;  // of add_seconds()

  explicit TextCursor(char* at) : at_(at) {}

  char* at() const { return at_; }
  // What was written since `begin`.
  std::string_view since(const char* begin) const {
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  [[gnu::always_inline]] TextCursor& operator+=(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());  // one of none may have no place
    at_ += text.size();
    return *this;
  }
  TextCursor& operator+=(char c) {
    *at_++ = c;
    return *this;
  }
  // At most kMaxDecimalDigits bytes.
  void add_number(std::uint64_t value) {
    if (value < kTenToEight) {
      add_leading(value);
    } else if (const std::uint64_t head = value / kTenToEight; head < kTenToEight) {
      add_leading(head);
      add_eight(value - head * kTenToEight);
    } else {
      add_leading(head / kTenToEight);
      add_eight(head % kTenToEight);
      add_eight(value - head * kTenToEight);
    }
  }
  // Exactly: "9.4", "0", "0.000000001". At most kMaxSeconds bytes. REQUIRES: not negative.
  void add_seconds(Duration duration) {
    const auto ns = static_cast<std::uint64_t>(duration.count());
    if (ns == 0) {
      *at_++ = '0';
      return;
    }
    constexpr auto kSecond = static_cast<std::uint64_t>(kNsPerSecond);
    const std::uint64_t seconds = ns / kSecond;
    add_number(seconds);
    add_fraction(ns - seconds * kSecond);
  }

 private:
  static constexpr std::uint64_t kTenToEight = 100'000'000;

  // A number below 10^8 without the zeros in front.
  void add_leading(std::uint64_t value) {
    if (value < 10) {
      *at_++ = static_cast<char>('0' + value);
      return;
    }
    if (value < 100) {
      std::memcpy(at_, &detail::kDigitPairs[2 * value], 2);
      at_ += 2;
      return;
    }
    const std::uint64_t digits = detail::eight_digits(value);
    const int zeros = std::countr_zero(digits | std::uint64_t{1} << 56) / 8;
    detail::store_little(at_, (digits + detail::kEightZeros) >> zeros * 8);
    at_ += 8 - zeros;
  }
  void add_eight(std::uint64_t value) {
    detail::store_little(at_, detail::eight_digits(value) + detail::kEightZeros);
    at_ += 8;
  }
  // Nine digits behind a point, without the zeros at their end; nothing where all are zeros.
  void add_fraction(std::uint64_t ns) {
    if (ns == 0) return;
    const std::uint64_t first = ns / kTenToEight;
    const std::uint64_t digits = detail::eight_digits(ns - first * kTenToEight);
    at_[0] = '.';
    at_[1] = static_cast<char>('0' + first);
    detail::store_little(at_ + 2, digits + detail::kEightZeros);
    at_ += 2 + (digits == 0 ? 0 : 8 - std::countl_zero(digits) / 8);
  }

  char* at_;
};

}  // namespace weir
