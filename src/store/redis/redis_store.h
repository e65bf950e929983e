// RedisStore: counters in Redis or Valkey, shared by all instances that name the same one.
//
// One script call decides all counters of a request that lie together: all of them on a single
// server, those of one slot on a Cluster, where limits with equal keys share one. Slots are asked
// in parallel; where one refuses, what the others took is given back, once, before the refusal is
// told. Shadow limits then follow, since they are charged only if the request is admitted.
//
// The server's clock decides. Every call ends within Options::settings.timeout; an outcome that is
// not known is told as such (Answer::known). Nothing whose outcome is not known is sent again.
//
// THREADS: charge(), correct() and reset() from any; from a loop's thread `done` runs there, from
// any other on the first loop. REQUIRES: the loops are stopped before this is closed or destroyed.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "net/loop.h"
#include "store/redis/client.h"
#include "store/redis/deny_cache.h"
#include "store/redis/group_call.h"
#include "store/redis/health.h"
#include "store/redis/settings.h"
#include "store/store.h"
#include "weir/result.h"

namespace weir::store {

struct RedisOptions {
  std::string url;
  Duration timeout = std::chrono::milliseconds(20);
  Duration connect_timeout = std::chrono::seconds(1);
  Duration deny_cache = std::chrono::seconds(1);  // 0: off
  std::string prefix = "weir:";
  redis::TlsFiles tls;
  metrics::Registry* registry = nullptr;
  // The caller's `now` decides in place of the server's clock: tests only.
  bool time_from_caller = false;
};

class RedisStore final : public Store {
 public:
  // ERRORS: kInvalid: the URL or a TLS file, by name.
  static Result<std::unique_ptr<RedisStore>> make(net::Loops& loops, RedisOptions options);
  ~RedisStore() override;

  // Begins to connect, on every loop. The loops may be started before or after.
  void start();
  // Ends what still waits, its outcome not known, on this thread; what is asked afterwards ends at
  // once. For owners of what `done` touches that goes before this does, which closes by itself.
  void close();

  // Why Redis cannot count by these numbers, or nothing.
  static std::optional<Error> check(const limit::Rule& rule);

  void charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
              Done done) override;
  void correct(std::span<const Charge> charges, const std::optional<Once>& once, Instant now,
               Corrected told) override;
  void reset(std::span<const Charge> charges, Corrected told) override;
  std::optional<Error> cannot_count(const limit::Rule& rule) const override { return check(rule); }

  // Nodes in use all answer; why not, else.
  bool up() const { return health_.up(); }
  std::string trouble() const { return health_.reasons(); }
  bool has_answered() const { return health_.has_answered(); }
  // From now on says in Redis, every three seconds, that this instance is there, and tells what all
  // instances there share; on the first loop's thread. REQUIRES: before start().
  struct Fleet {
    std::uint32_t instances = 1;  // that have said so within ten seconds
    SipKey secret;                // drawn by the first of them
  };
  void on_fleet(std::function<void(const Fleet&)> tell) { tell_fleet_ = std::move(tell); }
  // Runs `tell` once, at the first answer of a server, on the thread that got it; where on_fleet()
  // was called, not before the fleet is known, so that no id is sealed by a secret of our own.
  // REQUIRES: before start(), and after on_fleet().
  void on_first_answer(std::function<void()> tell);

 private:
  class Operation;
  class CorrectionCall;
  struct Reset;
  struct Shard;  // what one loop has of it

  RedisStore(net::Loops& loops, RedisOptions options, redis::Settings settings);

  Shard& shard_here();
  template <typename Function>
  void on_shard(Function function);
  redis::Item make_item(const Charge& charge) const;
  std::vector<std::vector<redis::Item*>> group(std::vector<redis::Item*> items) const;
  bool clustered() const { return settings_.url.topology == redis::Topology::kCluster; }
  void give_back(Shard& shard, std::vector<redis::Item> items, Instant now, Corrected landed);
  void send_reset(Shard& shard, const std::shared_ptr<Reset>& reset);
  void take(Reset& reset, const redis::Outcome& outcome);
  static void finish_one(Reset& reset);
  void beat();
  void meet_fleet();
  void take_fleet(const redis::Outcome& outcome);
  void learn_fleet(const redis::Outcome& outcome);
  void learn_time(std::int64_t server_us);
  void look_at_memory();

  net::Loops& loops_;
  const RedisOptions options_;
  const redis::Settings settings_;
  redis::Health health_;
  redis::DenyCache denials_;
  std::function<void(const Fleet&)> tell_fleet_;
  std::function<void()> tell_answered_;
  SipKey secret_ = random_sip_key();  // ours, until we hear of the fleet's; the first loop's
  std::string instance_;              // our name among the instances
  std::unique_ptr<net::SteadyTimer> heartbeat_;
  bool memory_told_ = false;  // what the server does when its memory is full
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace weir::store
