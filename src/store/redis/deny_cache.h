// DenyCache: counters that refused, so that a flood of refusals costs Redis nothing.
//
// A refusal holds until the wait that was told is over, counted from when the question was sent,
// and for `lasts` at most; for the same cost, or, from a bucket, a larger one. What is told in the
// meantime is worked out from the state that was seen, with the time that has passed.
//
// Bounded: a full shard drops what is over, or else what it comes upon first, which costs a
// question to Redis and nothing more. THREADS: any.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/siphash.h"
#include "store/redis/counter_rule.h"

namespace weir::store::redis {

class DenyCache {
 public:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMostPerShard = 4096;

  explicit DenyCache(Duration lasts) : lasts_(lasts), secret_(random_sip_key()) {}

  bool enabled() const { return lasts_ > Duration(0); }

  // The refusal that holds for this call, or nothing. `steady_ns`: now.
  std::optional<Verdict> find(std::string_view name, const CounterRule& rule, std::uint64_t cost,
                              std::int64_t steady_ns);
  // Remembers that a call was refused: `view` was seen at `now_us` of the server, and the question
  // sent at `steady_ns`.
  void remember(std::string_view name, std::shared_ptr<const CounterRule> rule, std::uint64_t cost,
                const CounterRule::View& view, std::int64_t now_us, std::int64_t steady_ns);
  void forget(std::string_view name);

  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const CounterRule> rule;
    CounterRule::View view;
    std::uint64_t cost = 0;
    std::int64_t now_us = 0;
    std::int64_t asked_ns = 0;
  };
  struct HashOfHash {
    std::size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Hash128, Entry, HashOfHash> entries;
  };

  Hash128 id_of(std::string_view name) const;
  Shard& shard_of(const Hash128& id) { return shards_[id.high % kShards]; }
  bool is_over(const Entry& entry, std::int64_t steady_ns) const {
    return steady_ns < entry.asked_ns || steady_ns - entry.asked_ns >= lasts_.count();
  }
  void make_room(Shard& shard, std::int64_t steady_ns) const;

  const Duration lasts_;
  const SipKey secret_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::store::redis
