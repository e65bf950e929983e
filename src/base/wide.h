// 128-bit integers for products of two 64-bit numbers, and exact divisions of them.
//
// The algorithms keep every intermediate below 2^127 by what Rule::make() accepts, so nothing here
// checks for overflow; what could overflow is refused when a policy is loaded.
//
// THREADS: plain functions.

#pragma once

#include <cstdint>

namespace weir {

__extension__ typedef unsigned __int128 Wide;
__extension__ typedef __int128 SignedWide;

constexpr Wide wide_product(std::uint64_t a, std::uint64_t b) {
  return Wide{a} * b;
}

// WHY the branch: a 128-bit division is a library call of some 30 ns; nearly all of ours fit 64.
constexpr Wide floor_div(Wide dividend, std::uint64_t divisor) {
  if ((dividend >> 64) == 0) return static_cast<std::uint64_t>(dividend) / divisor;
  return dividend / divisor;
}

constexpr Wide ceil_div(Wide dividend, std::uint64_t divisor) {
  const Wide quotient = floor_div(dividend, divisor);
  return quotient * divisor == dividend ? quotient : quotient + 1;
}

}  // namespace weir
