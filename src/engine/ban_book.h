// BanBook: keys that are refused for a while because a limit has refused them too often (`ban` of
// a limit), each further ban twice as long as the one before.
//
// `after` refusals in (now - within, now] begin a ban, and the refusal that makes the number full
// is told of it already. A ban that begins before the ones before are forgotten lasts twice as long
// as the last; they are forgotten once the longest that there can be has passed since the last
// ended. What is refused during a ban does not count.
//
// Counts what this process refuses, unless whoever shares bans with a fleet counts for all of it
// (Sharing). Time is monotonic, and an argument.
//
// Bounded: 65,536 keys. Where there is no room, of eight the one goes that has the fewest refusals,
// and one that is banned only where all are.
//
// THREADS: any; share() and on_ban() before the first request.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "policy/policy.h"
#include "weir/time.h"

namespace weir::engine {

struct Banned {
  std::string limit;
  std::string key;          // encoded (engine/key.h)
  Duration left{0};         // 0: lifted
  std::uint32_t times = 0;  // in a row, this one included
  Duration forgotten{0};    // after which the next would be the first again
};

class BanBook {
 public:
  static constexpr std::size_t kMaxKeys = 65'536;
  static constexpr std::size_t kMaxKeyBytes = 512;  // of a key that can be banned

  // Whoever counts for a fleet.
  struct Sharing {
    // A refusal. False: it is counted here, for nobody can be asked.
    std::function<bool(std::string_view limit, const policy::Ban& ban, std::string_view key)>
        refused;
    std::function<void(std::string_view limit, std::string_view key)> lifted;
  };
  void share(Sharing sharing) { sharing_ = std::move(sharing); }
  // Told every ban that begins here.
  void on_ban(std::function<void(const Banned& banned)> told) { told_ = std::move(told); }

  BanBook();

  // The limit has refused the key once more. How long it is banned from now on; 0: it is not, or
  // that is not known yet.
  Duration refused(std::string_view limit, const policy::Ban& ban, std::string_view key,
                   Instant now);
  // The same, counted here whoever shares.
  Duration count(std::string_view limit, const policy::Ban& ban, std::string_view key, Instant now);

  // How long the key is still banned; 0: it is not.
  Duration left(std::string_view limit, std::string_view key, Instant now) const {
    if (last_end_ns_.load(std::memory_order_relaxed) <= now.steady_ns) return Duration{0};
    return look_up(limit, key, now);
  }

  // What another instance knows of a key: banned, or lifted.
  void learn(const Banned& banned, Instant now);
  // A ban that whoever counts for a fleet has begun because of a refusal here.
  void begun(const Banned& banned, Instant now);
  // The key is as if it had never been refused. True where it was banned.
  bool lift(std::string_view limit, std::string_view key, Instant now);
  // All that are in force, in no order.
  std::vector<Banned> list(Instant now) const;

 private:
  using Name = Hash128;  // of the limit and the key
  struct HashName {
    std::size_t operator()(const Name& name) const { return name.low; }
  };
  struct Entry {
    std::vector<std::int64_t> refusals;  // steady times, the oldest first; fewer than `after`
    std::int64_t until_ns = 0;
    std::int64_t forget_ns = 0;
    std::uint32_t times = 0;
    std::string limit;  // both only of what is banned
    std::string key;
  };
  using Entries = std::unordered_map<Name, Entry, HashName>;
  struct Shard {
    mutable std::mutex mutex;
    Entries entries;
  };
  static constexpr std::size_t kShards = 16;

  Name name_of(std::string_view limit, std::string_view key) const;
  Shard& shard_of(const Name& name) { return shards_[name.high % kShards]; }
  const Shard& shard_of(const Name& name) const { return shards_[name.high % kShards]; }
  Duration look_up(std::string_view limit, std::string_view key, Instant now) const;
  static Entry& entry_of(Shard& shard, const Name& name, std::int64_t now_ns);
  void begin(Entry& entry, const Banned& banned, std::int64_t now_ns);

  const KeyedHash hash_;
  std::array<Shard, kShards> shards_;
  // Relaxed: whether any key may be banned at all; a look a moment late is one more request.
  std::atomic<std::int64_t> last_end_ns_{0};
  Sharing sharing_;
  std::function<void(const Banned& banned)> told_;
};

}  // namespace weir::engine
