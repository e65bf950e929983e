#include "base/base64url.h"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr auto kValues = make_values();

// The first `kCount` of the four digits that 24 bits have.
template <int kCount>
void write_digits(char* to, std::uint32_t group) {
  for (int i = 0; i < kCount; ++i) to[i] = kDigits[group >> (18 - 6 * i) & 63];
}

#if defined(__x86_64__)
const bool kHasShuffles = __builtin_cpu_supports("ssse3");

// Sixteen digits of twelve bytes at once, after Wojciech Mula's "Base64 encoding with SIMD
// instructions": the bytes are dealt out to lanes of 32 bits, multiplications shift four groups of
// six bits into place, and the distance from each group to its digit is looked up by range.
__attribute__((target("ssse3"))) inline __m128i sixteen_digits(__m128i bytes) {
  const __m128i dealt =
      _mm_shuffle_epi8(bytes, _mm_set_epi8(10, 11, 9, 10, 7, 8, 6, 7, 4, 5, 3, 4, 1, 2, 0, 1));
  const __m128i odd =
      _mm_mulhi_epu16(_mm_and_si128(dealt, _mm_set1_epi32(0x0fc0fc00)), _mm_set1_epi32(0x04000040));
  const __m128i even =
      _mm_mullo_epi16(_mm_and_si128(dealt, _mm_set1_epi32(0x003f03f0)), _mm_set1_epi32(0x01000010));
  const __m128i groups = _mm_or_si128(odd, even);
  // 0 for lower case, 1 to 10 for digits, 11 and 12 for the last two, 13 for upper case.
  const __m128i range =
      _mm_or_si128(_mm_subs_epu8(groups, _mm_set1_epi8(51)),
                   _mm_and_si128(_mm_cmpgt_epi8(_mm_set1_epi8(26), groups), _mm_set1_epi8(13)));
  constexpr char kDigit = '0' - 52;
  const __m128i distances =
      _mm_setr_epi8('a' - 26, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit, kDigit,
                    kDigit, kDigit, '-' - 62, '_' - 63, 'A', 0, 0);
  return _mm_add_epi8(groups, _mm_shuffle_epi8(distances, range));
}

__attribute__((target("ssse3"))) inline __m128i bytes_at(const unsigned char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

__attribute__((target("ssse3"))) inline void store(char* to, __m128i digits) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), digits);
}

// All digits of `size` bytes; those of the last bytes by a block that ends with them, moved to its
// front. REQUIRES: size >= 16.
__attribute__((target("ssse3"))) void write_by_blocks(char* to, const unsigned char* from,
                                                      std::size_t size) {
  const unsigned char* const end = from + size;
  for (; end - from >= 16; from += 12, to += 16) store(to, sixteen_digits(bytes_at(from)));
  // Behind the sixteen places there is nothing: 0 comes from there.
  alignas(16) static constexpr std::array<std::int8_t, 32> kFront = [] {
    std::array<std::int8_t, 32> places{};
    places.fill(-1);
    for (std::int8_t i = 0; i < 16; ++i) places[static_cast<std::size_t>(i)] = i;
    return places;
  }();
  while (from < end) {
    const auto left = static_cast<std::size_t>(end - from);  // 4 to 15, then at most 3
    const __m128i places =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kFront.data() + 16 - left));
    char digits[16];
    store(digits, sixteen_digits(_mm_shuffle_epi8(bytes_at(end - 16), places)));
    const std::size_t taken = left < 12 ? left : 12;
    std::memcpy(to, digits, (taken * 4 + 2) / 3);
    from += taken;
    to += 16;
  }
}
#endif

}  // namespace

void append_base64url(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  out.resize(before + (bytes.size() * 4 + 2) / 3);
  char* digit = out.data() + before;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
#if defined(__x86_64__)
  if (kHasShuffles && left >= 16) return write_by_blocks(digit, at, left);
#endif
  for (; left >= 3; left -= 3, at += 3, digit += 4) {
    write_digits<4>(digit, std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | at[2]);
  }
  if (left == 2) write_digits<3>(digit, std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8);
  if (left == 1) write_digits<2>(digit, std::uint32_t{at[0]} << 16);
}

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNone) return std::nullopt;
    held = held << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  if ((held & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace weir
