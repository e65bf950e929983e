// KeyedHash: 128 bits of two texts (a counter's name, a key) under a secret; nobody without the
// secret can aim at a value, or make two pairs of texts meet.
//
// With AES instructions: every 16-byte block of the input goes through four AES rounds under round
// keys of its own place, the results are added (xor) with one for the two lengths, and the sum goes
// through four more rounds. WHY that is safe: two different inputs meet only if a difference of
// four AES rounds under independent keys hits one given value, which has a chance of at most 2^-113
// (Keliher and Sui, "Exact maximum expected differential and linear probability for two-round
// AES", from which the bound for four follows); the values themselves are shown to nobody. What is
// beyond kLanes blocks is chained four rounds a block, under fixed keys (the ALRED construction of
// Daemen and Rijmen). WHY not SipHash there: measured, a third of its time for a key of 20 bytes,
// and blocks need not wait for each other.
//
// Without them: SipHash-2-4 of the same parts. The two give different values, so what was stored
// under one form is not found under the other: form() tells them apart.
//
// THREADS: immutable; any.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/siphash.h"

namespace weir {

class KeyedHash {
 public:
  enum class Form : std::uint8_t { kSipHash = 1, kAes = 2 };
  // The fastest form of this machine.
  static Form best();

  // REQUIRES: form is kSipHash or best().
  explicit KeyedHash(const SipKey& secret, Form form = best());

  Hash128 operator()(std::string_view name, std::string_view key) const {
    return form_ == Form::kAes ? by_aes(name.size(), sum_of_name(name), key)
                               : by_siphash(started(name), key);
  }

  // A name, hashed once for many keys.
  class Name {
   private:
    friend class KeyedHash;
    Name(std::size_t size, const Hash128& sum, const SipHash& started)
        : size_(size), sum_(sum), started_(started) {}
    std::size_t size_;
    Hash128 sum_;      // kAes
    SipHash started_;  // kSipHash
  };
  Name name(std::string_view name) const {
    return Name(name.size(), form_ == Form::kAes ? sum_of_name(name) : Hash128{}, started(name));
  }
  Hash128 operator()(const Name& name, std::string_view key) const {
    return form_ == Form::kAes ? by_aes(name.size_, name.sum_, key)
                               : by_siphash(name.started_, key);
  }

  const SipKey& secret() const { return secret_; }
  Form form() const { return form_; }

 private:
  static constexpr std::size_t kLanes = 4;   // of each text: blocks that need not wait
  static constexpr std::size_t kRounds = 4;  // and one key before the first

  // Round keys: kLanes for the name, kLanes for the key, the lengths, both chains, the end.
  static constexpr std::size_t kKeySets = 2 * kLanes + 3;
  struct alignas(16) RoundKey {
    std::uint64_t low, high;
  };
  using RoundKeys = std::array<RoundKey, kRounds + 1>;

  Hash128 sum_of_name(std::string_view name) const;
  Hash128 by_aes(std::size_t name_size, const Hash128& name_sum, std::string_view key) const;
  SipHash started(std::string_view name) const;
  static Hash128 by_siphash(SipHash started, std::string_view key);

  SipKey secret_;
  Form form_;
  std::array<RoundKeys, kKeySets> keys_{};
};

}  // namespace weir
