// DenyCache: counters that refused, so that a flood of refusals costs Redis nothing.
//
// A refusal holds until the wait that was told is over, counted from when the question was sent,
// and for `lasts` at most; for the same cost, or, from a bucket, a larger one. What is told in the
// meantime is worked out from the state that was seen, with the time that has passed.
//
// What else the refused request met is remembered too, as it was seen, so that a refusal told from
// here can say how those limits stood a moment ago.
//
// A refusal that was on its way while its counter was given something back says nothing any more:
// forget() moves the counter's generation on, and remember() wants that of the question.
//
// Bounded: a full shard drops what is over, or else what it comes upon first, which costs a
// question to Redis and nothing more. THREADS: any.

#pragma once

#include <array>
#include <atomic>
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
  static constexpr std::size_t kMaxPerShard = 4096;

  explicit DenyCache(Duration lasts) : lasts_(lasts), secret_(random_sip_key()) {}

  bool enabled() const { return lasts_ > Duration(0); }

  // A question about a counter.
  struct Call {
    std::string_view name;
    const std::shared_ptr<const CounterRule>& rule;
    std::uint64_t cost = 1;
    std::int64_t asked_ns = 0;     // the steady clock's now
    std::uint32_t generation = 0;  // of the counter, then
  };

  std::uint32_t generation(std::string_view name) const {
    return generation_of(id_of(name)).load(std::memory_order_relaxed);
  }
  // The refusal that holds for this call, or nothing.
  std::optional<Verdict> find(const Call& call);
  // How the counter of a call that another one refused would now stand, uncharged, by what was last
  // seen of it; nothing where that says too little.
  std::optional<Verdict> last_seen(const Call& call);
  // Remembers what a call of a refused request met: `view` was seen at `now_us` of the server.
  // `refused`: by this counter.
  void remember(const Call& call, bool refused, const CounterRule::View& view, std::int64_t now_us);
  void forget(std::string_view name);

  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const CounterRule> rule;
    CounterRule::View view;
    std::uint64_t cost = 0;
    std::int64_t now_us = 0;
    std::int64_t asked_ns = 0;
    bool refused = false;
  };
  struct HashOfHash {
    std::size_t operator()(const Hash128& hash) const { return hash.low; }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Hash128, Entry, HashOfHash> entries;
  };

  static constexpr std::size_t kGenerations = 1024;

  Hash128 id_of(std::string_view name) const;
  // Relaxed: read again under the shard's mutex, which forget() takes after it.
  const std::atomic<std::uint32_t>& generation_of(const Hash128& id) const {
    return generations_[id.low % kGenerations];
  }
  // What is remembered for the call, while it lasts. REQUIRES: the shard is locked.
  const Entry* entry_for(Shard& shard, const Hash128& id, const Call& call);
  bool remembers(const Call& call) const {
    return enabled() && call.cost > 0 && call.rule->denial_lasts();
  }
  Shard& shard_of(const Hash128& id) { return shards_[id.high % kShards]; }
  bool is_over(const Entry& entry, std::int64_t steady_ns) const {
    return steady_ns < entry.asked_ns || steady_ns - entry.asked_ns >= lasts_.count();
  }
  static std::int64_t passed_us(const Entry& entry, const Call& call) {
    return (call.asked_ns - entry.asked_ns) / 1000;
  }
  void make_room(Shard& shard, std::int64_t steady_ns) const;

  const Duration lasts_;
  const SipKey secret_;
  std::array<Shard, kShards> shards_;
  std::array<std::atomic<std::uint32_t>, kGenerations> generations_{};  // by counter
};

}  // namespace weir::store::redis
