// Whole numbers in decimal, for what is written with every answer.
//
// WHY beside std::to_chars: it counts the digits four at a time in a loop and is not inlined;
// measured, half of the instructions for a number of ten digits.
//
// THREADS: pure functions.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {

inline constexpr std::size_t kMaxDecimalDigits = 20;

namespace detail {

inline constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// 0 first, so that 0 has one digit.
inline constexpr std::array<std::uint64_t, kMaxDecimalDigits> kPowersOfTen = [] {
  std::array<std::uint64_t, kMaxDecimalDigits> powers{};
  std::uint64_t power = 10;
  for (std::size_t i = 1; i < powers.size(); ++i, power *= 10) powers[i] = power;
  return powers;
}();

}  // namespace detail

constexpr std::size_t decimal_digits(std::uint64_t value) {
  // 1233 / 4096 is a little more than log10(2).
  const auto guess = static_cast<std::size_t>(std::bit_width(value)) * 1233 >> 12;
  return guess + (value >= detail::kPowersOfTen[guess] ? 1 : 0);
}

// Writes the digits and returns their end. REQUIRES: room for decimal_digits(value).
inline char* write_decimal(char* to, std::uint64_t value) {
  if (value < 10) {
    *to = static_cast<char>('0' + value);
    return to + 1;
  }
  char* const end = to + decimal_digits(value);
  char* at = end;
  for (; value >= 100; value /= 100) {
    at -= 2;
    std::memcpy(at, &detail::kDigitPairs[2 * (value % 100)], 2);
  }
  if (value >= 10) {
    std::memcpy(to, &detail::kDigitPairs[2 * value], 2);
  } else {
    *to = static_cast<char>('0' + value);
  }
  return end;
}

}  // namespace weir
