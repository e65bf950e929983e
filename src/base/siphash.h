// SipHash-2-4 with 128 bits of output: a keyed hash whose collisions nobody without the key can
// aim at.
//
// After Aumasson and Bernstein, "SipHash: a fast short-input PRF"; the 128-bit form of the authors'
// reference. Checked against its published vectors. Not a general-purpose digest: the key is what
// makes it safe.
//
// THREADS: one SipHash belongs to one thread; SipKey is a plain value.

#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

// A key from the kernel's random numbers. Aborts where there are none: a guessable key would let
// an outsider choose whose counter to hit.
SipKey random_sip_key();

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

class SipHash {
 public:
  explicit SipHash(const SipKey& key);

  void add(std::string_view bytes);
  void add_word(std::uint64_t word);  // as eight little-endian bytes
  Hash128 finish();

 private:
  void absorb(std::uint64_t word);
  void round();

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t pending_ = 0;  // the bytes that do not fill a word yet
  std::uint64_t length_ = 0;
};

}  // namespace weir
