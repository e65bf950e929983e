#include "base/siphash.h"

#include <sys/random.h>

#include <bit>
#include <cstring>

#include "base/check.h"

namespace weir {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

SipKey random_sip_key() {
  SipKey key;
  const ssize_t got = getrandom(&key, sizeof key, 0);
  WEIR_CHECK(got == ssize_t{sizeof key}, "the kernel gives random numbers from early boot on");
  return key;
}

SipHash::SipHash(const SipKey& key)
    : v0_(key.k0 ^ 0x736f6d6570736575),
      v1_(key.k1 ^ 0x646f72616e646f6d ^ 0xee),
      v2_(key.k0 ^ 0x6c7967656e657261),
      v3_(key.k1 ^ 0x7465646279746573) {}

void SipHash::round() {
  v0_ += v1_;
  v2_ += v3_;
  v1_ = std::rotl(v1_, 13) ^ v0_;
  v3_ = std::rotl(v3_, 16) ^ v2_;
  v0_ = std::rotl(v0_, 32) + v3_;
  v2_ += v1_;
  v3_ = std::rotl(v3_, 21) ^ v0_;
  v1_ = std::rotl(v1_, 17) ^ v2_;
  v2_ = std::rotl(v2_, 32);
}

void SipHash::absorb(std::uint64_t word) {
  v3_ ^= word;
  round();
  round();
  v0_ ^= word;
}

void SipHash::add_word(std::uint64_t word) {
  const unsigned filled = (length_ & 7) * 8;
  length_ += 8;
  absorb(pending_ | word << filled);
  pending_ = filled == 0 ? 0 : word >> (64 - filled);
}

// WHY on a copy: the compiler keeps that one in registers, where it would write a member back after
// each round.
void SipHash::add(std::string_view bytes) {
  SipHash self = *this;
  if ((self.length_ & 7) == 0) {  // whole words, as they stand
    self.length_ += bytes.size() & ~std::size_t{7};
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data(), 8);
      self.absorb(word);
    }
  }
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    self.add_word(word);
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) {
    self.pending_ |= std::uint64_t{static_cast<unsigned char>(byte)} << (self.length_ & 7) * 8;
    if ((++self.length_ & 7) != 0) continue;
    self.absorb(self.pending_);
    self.pending_ = 0;
  }
  *this = self;
}

Hash128 SipHash::finish() {
  absorb(pending_ | length_ << 56);
  Hash128 hash;
  v2_ ^= 0xee;
  for (int i = 0; i < 4; ++i) round();
  hash.low = v0_ ^ v1_ ^ v2_ ^ v3_;
  v1_ ^= 0xdd;
  for (int i = 0; i < 4; ++i) round();
  hash.high = v0_ ^ v1_ ^ v2_ ^ v3_;
  return hash;
}

}  // namespace weir
