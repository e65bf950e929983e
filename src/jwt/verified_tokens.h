// VerifiedTokens: tokens whose signature was found right, and what they say, so that the next
// request with the same token costs a hash in place of a signature.
//
// Found by the SHA-256 of the token, which is not kept. Holds two generations of at most
// kPerGeneration tokens in each of its shards: when the younger is full, the older goes.
// THREADS: any.

#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "policy/identity.h"

namespace weir::jwt {

// What a token says, from when until when.
struct Verified {
  policy::TokenClaims claims;
  std::int64_t not_before_ns = 0;
  std::int64_t expires_ns = 0;
};
using VerifiedPtr = std::shared_ptr<const Verified>;

class VerifiedTokens {
 public:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kPerGeneration = 512;

  using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;
  static Digest digest_of(std::string_view token) {
    Digest digest;
    SHA256(reinterpret_cast<const std::uint8_t*>(token.data()), token.size(), digest.data());
    return digest;
  }

  VerifiedPtr find(const Digest& digest) {
    Shard& shard = shards_[digest[0] % kShards];
    const std::lock_guard lock(shard.mutex);
    if (const auto known = shard.younger.find(digest); known != shard.younger.end()) {
      return known->second;
    }
    const auto older = shard.older.find(digest);
    if (older == shard.older.end()) return nullptr;
    VerifiedPtr verified = older->second;
    shard.add(digest, verified);
    return verified;
  }

  void add(const Digest& digest, VerifiedPtr verified) {
    Shard& shard = shards_[digest[0] % kShards];
    const std::lock_guard lock(shard.mutex);
    shard.add(digest, std::move(verified));
  }

  std::size_t size() const {
    std::size_t count = 0;
    for (const Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      count += shard.younger.size() + shard.older.size();
    }
    return count;
  }

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      std::memcpy(&hash, digest.data() + 1, sizeof hash);
      return hash;
    }
  };
  using Map = std::unordered_map<Digest, VerifiedPtr, Hash>;

  struct Shard {
    void add(const Digest& digest, VerifiedPtr verified) {
      if (younger.size() >= kPerGeneration) {
        older = std::move(younger);
        younger.clear();
      }
      younger.insert_or_assign(digest, std::move(verified));
    }

    mutable std::mutex mutex;
    Map younger;  // by mutex
    Map older;    // by mutex
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace weir::jwt
