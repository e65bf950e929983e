// Scans over the long parts of a head, many bytes at a time: where does a name, a path, a target or
// a value end?
//
// A block of bytes is asked which of them need a closer look; only the first of those is looked up
// in the table of classes. The blocks are 16 bytes wide where the CPU has SSE2 (every x86-64 has),
// and a 64-bit word elsewhere. Both are compiled and tested wherever they can be.
//
// THREADS: pure functions.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "wire/http1/characters.h"

namespace weir::http1 {

namespace scan {

// Eight bytes in a word. What is asked of them gives a mask, or a block of lanes that becomes one:
// several questions are then joined before that one step. A mask has the high bit of each byte that
// it speaks of, exact up to the lowest one set; what a borrow or carry taints lies above.
struct Word {
  static constexpr std::ptrdiff_t kBytes = 8;
  using Mask = std::uint64_t;
  static constexpr std::uint64_t kOnes = 0x0101010101010101;
  static constexpr std::uint64_t kHigh = 0x8080808080808080;

  explicit Word(const char* at) {
    std::memcpy(&bytes, at, sizeof bytes);
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  }

  Mask not_ascii() const { return bytes & kHigh; }
  Mask up_to(std::uint8_t last) const {  // last < 0x7f
    return (bytes - kOnes * (last + 1u)) & ~bytes & kHigh;
  }
  Mask equal(char wanted) const {
    const std::uint64_t other = bytes ^ (kOnes * static_cast<std::uint8_t>(wanted));
    return (other - kOnes) & ~other & kHigh;
  }
  // All bytes but ASCII letters, digits and '-'.
  Mask not_plain() const {
    const std::uint64_t ascii = bytes & ~kHigh;
    const std::uint64_t plain = between(ascii | kOnes * 0x20, 'a', 'z') | between(ascii, '0', '9') |
                                between(ascii, '-', '-');
    return (~plain | bytes) & kHigh;
  }
  static Mask mask(Mask lanes) { return lanes; }
  static std::ptrdiff_t first(Mask mask) { return std::countr_zero(mask) / 8; }

  std::uint64_t bytes;

 private:
  static std::uint64_t between(std::uint64_t ascii, std::uint8_t first, std::uint8_t last) {
    return (ascii + kOnes * (0x80u - first)) & ~(ascii + kOnes * (0x7fu - last)) & kHigh;
  }
};

#ifdef __SSE2__
struct Vector {
  static constexpr std::ptrdiff_t kBytes = 16;
  using Mask = std::uint32_t;  // one bit a byte

  struct Lanes {  // what holds sets the high bit of its byte
    __m128i bytes;
    friend Lanes operator|(Lanes a, Lanes b) { return {_mm_or_si128(a.bytes, b.bytes)}; }
  };

  explicit Vector(const char* at) : bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))) {}

  Lanes not_ascii() const { return {bytes}; }
  Lanes up_to(std::uint8_t last) const {
    const __m128i bound = _mm_set1_epi8(static_cast<char>(last));
    return {_mm_cmpeq_epi8(_mm_min_epu8(bytes, bound), bytes)};
  }
  Lanes equal(char wanted) const { return {_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted))}; }
  Lanes not_plain() const {
    const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i plain = _mm_or_si128(_mm_or_si128(within(lower, 'a', 26), within(bytes, '0', 10)),
                                       _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-')));
    return {_mm_cmpeq_epi8(plain, _mm_setzero_si128())};
  }
  static Mask mask(Lanes lanes) { return static_cast<Mask>(_mm_movemask_epi8(lanes.bytes)); }
  static std::ptrdiff_t first(Mask found) { return std::countr_zero(found); }

  __m128i bytes;

 private:
  static __m128i within(__m128i lanes, char first, char count) {
    const __m128i from_first = _mm_sub_epi8(lanes, _mm_set1_epi8(first));
    const __m128i last = _mm_set1_epi8(static_cast<char>(count - 1));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_first, last), from_first);
  }
};
#endif

// The parts that are scanned for: which bytes of a block need a look, and which of those belong.
struct FieldValue {
  static bool belongs(char c) { return is(c, kFieldChar); }
  template <typename B>
  static auto suspects(const B& block) {
    return block.up_to(0x1f) | block.equal(0x7f);
  }
};

struct Target {
  static bool belongs(char c) { return is(c, kTargetChar); }
  template <typename B>
  static auto suspects(const B& block) {
    return block.up_to(0x20) | block.equal('#') | block.equal(0x7f) | block.not_ascii();
  }
};

struct Path {  // a target up to its query
  static bool belongs(char c) { return is(c, kTargetChar) && c != '?'; }
  template <typename B>
  static auto suspects(const B& block) {
    return Target::suspects(block) | block.equal('?');
  }
};

struct Token {
  static bool belongs(char c) { return is(c, kTokenChar); }
  template <typename B>
  static auto suspects(const B& block) {
    return block.not_plain();
  }
};

// Whole blocks only: leaves less than one, or stops at what does not belong (and says so).
template <typename Part, typename B>
inline bool skip_blocks(const char*& at, const char* end) {
  while (end - at >= B::kBytes) {
    const typename B::Mask suspects = B::mask(Part::suspects(B(at)));
    if (suspects == 0) {
      at += B::kBytes;
      continue;
    }
    at += B::first(suspects);
    if (!Part::belongs(*at)) return true;
    ++at;
  }
  return false;
}

template <typename Part>
inline const char* skip(const char* at, const char* end) {
#ifdef __SSE2__
  if (skip_blocks<Part, Vector>(at, end)) return at;
#endif
  if (skip_blocks<Part, Word>(at, end)) return at;
  while (at != end && Part::belongs(*at)) ++at;
  return at;
}

}  // namespace scan

// The first byte in [at, end) that does not belong to the part, or end.
inline const char* skip_field_value(const char* at, const char* end) {
  return scan::skip<scan::FieldValue>(at, end);
}
inline const char* skip_target(const char* at, const char* end) {
  return scan::skip<scan::Target>(at, end);
}
inline const char* skip_path(const char* at, const char* end) {
  return scan::skip<scan::Path>(at, end);
}
inline const char* skip_token(const char* at, const char* end) {
  return scan::skip<scan::Token>(at, end);
}

}  // namespace weir::http1
