// DenyCache: counters that refused, so that a flood of refusals costs Redis nothing.
//
// A refusal holds until the wait that was told is over, counted from when the question was sent,
// and for `lasts` at most; for the same cost, or, from a bucket, a larger one. What is told in the
// meantime is worked out from the state that was seen, with the time that has passed.
//
// What else the refused request met is remembered too, as it was seen, so that a refusal told from
// here can say how those limits stood a moment ago.
//
// What was on its way while its counter was given something back says nothing any more: forget()
// moves a count on, and remember() wants that of the question. A call that was admitted has made
// the wait longer than refusals from before it tell, by the server's time: charged() keeps that,
// but how the counter was last seen stays.
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

  // A counter, and what had become of it when a question was asked.
  struct Asked {
    Hash128 id;
    std::uint32_t forgotten = 0;
  };
  Asked ask(std::string_view name) const;

  // A question about a counter.
  struct Call {
    Asked counter;
    const std::shared_ptr<const CounterRule>& rule;
    std::uint64_t cost = 1;
    std::int64_t asked_ns = 0;  // the steady clock's now
  };

  // The refusal that holds for this call, or nothing.
  std::optional<Verdict> find(const Call& call);
  // How the counter of a call that another one refused would now stand, uncharged, by what was last
  // seen of it; nothing where that says too little.
  std::optional<Verdict> last_seen(const Call& call);
  // Remembers what a call of a refused request met: `view` was seen at `now_us` of the server.
  // `refused`: by this counter.
  void remember(const Call& call, bool refused, const CounterRule::View& view, std::int64_t now_us);
  void forget(std::string_view name);
  // A call on the counter was admitted, at `now_us` of the server: what it refused before has
  // longer to wait now.
  void charged(const Call& call, std::int64_t now_us);

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

  // What happened to counters; those of one place share it. Relaxed: read again under the shard's
  // mutex, which is taken after it was moved on.
  struct Events {
    std::atomic<std::uint32_t> forgotten{0};
    std::atomic<std::int64_t> charged_us{0};  // when last, by the server
  };
  static constexpr std::size_t kEvents = 1024;

  Hash128 id_of(std::string_view name) const;
  Events& events_of(const Hash128& id) { return events_[id.low % kEvents]; }
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
  std::array<Events, kEvents> events_;
};

}  // namespace weir::store::redis
