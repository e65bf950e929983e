#include "base/keyed_hash.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define WEIR_AES __attribute__((target("aes,sse4.1"), always_inline)) inline
#endif

namespace weir {

KeyedHash::Form KeyedHash::best() {
#if defined(__x86_64__)
  static const bool has_aes = __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
  if (has_aes) return Form::kAes;
#endif
  return Form::kSipHash;
}

KeyedHash::KeyedHash(const SipKey& secret, Form form) : secret_(secret), form_(form) {
  if (form_ != Form::kAes) return;
  std::uint64_t number = 0;
  for (RoundKeys& set : keys_) {
    for (RoundKey& key : set) {
      SipHash derive(secret);
      derive.add_word(number++);
      const Hash128 value = derive.finish();
      key = {value.low, value.high};
    }
  }
}

// The name's length goes first, so that no two pairs give the same bytes.
SipHash KeyedHash::started(std::string_view name) const {
  SipHash hash(secret_);
  hash.add_word(name.size());
  hash.add(name);
  return hash;
}

Hash128 KeyedHash::by_siphash(SipHash started, std::string_view key) {
  started.add(key);
  return started.finish();
}

#if defined(__x86_64__)
namespace {

WEIR_AES __m128i block_at(const char* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

WEIR_AES Hash128 split(__m128i value) {
  Hash128 hash;
  hash.low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(value));
  hash.high = static_cast<std::uint64_t>(_mm_extract_epi64(value, 1));
  return hash;
}

// The last `size` bytes, 1 to 15: all of them, some twice; the length, which is hashed too, says
// which.
WEIR_AES __m128i short_block(const char* bytes, std::size_t size) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (size >= 8) {
    std::memcpy(&low, bytes, 8);
    std::memcpy(&high, bytes + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + size - 4, 4);
  } else {
    low = static_cast<unsigned char>(bytes[0]);
    high = static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[size / 2])) << 8 |
           static_cast<unsigned char>(bytes[size - 1]);
  }
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

template <typename Keys>
WEIR_AES __m128i scramble(__m128i block, const Keys& keys) {
  const auto* key = reinterpret_cast<const __m128i*>(keys.data());
  block = _mm_xor_si128(block, _mm_load_si128(key));
  block = _mm_aesenc_si128(block, _mm_load_si128(key + 1));
  block = _mm_aesenc_si128(block, _mm_load_si128(key + 2));
  block = _mm_aesenc_si128(block, _mm_load_si128(key + 3));
  return _mm_aesenc_si128(block, _mm_load_si128(key + 4));
}

// The sum of a text's blocks, lane by lane, then along the chain. A last block that is not whole
// is the text's last 16 bytes, or all of a shorter text.
template <std::size_t Lanes, typename Keys>
WEIR_AES __m128i sum_of(std::string_view text, const Keys* lanes, const Keys& chain) {
  const char* at = text.data();
  std::size_t left = text.size();
  if (left == 0) return _mm_setzero_si128();
  if (left < 16) return scramble(short_block(at, left), lanes[0]);
  const char* const last = at + left - 16;
  __m128i sum = scramble(block_at(at), lanes[0]);
  if (left <= 32) {  // what most keys are: no loop
    return left == 16 ? sum : _mm_xor_si128(sum, scramble(block_at(last), lanes[1]));
  }
  at += 16;
  left -= 16;
  for (std::size_t lane = 1; lane < Lanes && left > 0; ++lane) {
    const bool whole = left >= 16;
    sum = _mm_xor_si128(sum, scramble(block_at(whole ? at : last), lanes[lane]));
    at += 16;
    left -= whole ? 16 : left;
  }
  while (left > 0) {
    const bool whole = left >= 16;
    sum = scramble(_mm_xor_si128(sum, block_at(whole ? at : last)), chain);
    at += 16;
    left -= whole ? 16 : left;
  }
  return sum;
}

}  // namespace

__attribute__((target("aes,sse4.1"))) Hash128 KeyedHash::sum_of_name(std::string_view name) const {
  return split(sum_of<kLanes>(name, keys_.data(), keys_[2 * kLanes + 1]));
}

__attribute__((target("aes,sse4.1"))) Hash128 KeyedHash::by_aes(std::size_t name_size,
                                                                const Hash128& name_sum,
                                                                std::string_view key) const {
  const RoundKeys* sets = keys_.data();
  const RoundKeys& lengths = sets[2 * kLanes];
  const RoundKeys& chain = sets[2 * kLanes + 1];
  const RoundKeys& end = sets[2 * kLanes + 2];
  __m128i sum = scramble(
      _mm_set_epi64x(static_cast<long long>(name_size), static_cast<long long>(key.size())),
      lengths);
  sum = _mm_xor_si128(sum, block_at(reinterpret_cast<const char*>(&name_sum)));
  sum = _mm_xor_si128(sum, sum_of<kLanes>(key, sets + kLanes, chain));
  return split(scramble(sum, end));
}
#else
Hash128 KeyedHash::sum_of_name(std::string_view) const {
  return {};
}
// Never called: best() says kSipHash.
Hash128 KeyedHash::by_aes(std::size_t, const Hash128&, std::string_view) const {
  return {};
}
#endif

}  // namespace weir
