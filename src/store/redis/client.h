// Client: Redis as one loop sees it. Sends a script's call to the node that is responsible, and
// follows what nodes say of where that is: MOVED, ASK, a Sentinel's switch.
//
// A call is sent again only where nothing of it can have run: it was never sent, or the server
// refused it (NOSCRIPT, MOVED, ASK, TRYAGAIN). What became of any other is not known, and the
// caller is told so.
//
// THREADS: one loop; start() and close() there too. Outcomes may come before run() returns, and
// none comes after close().

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/loop.h"
#include "store/redis/cluster_map.h"
#include "store/redis/health.h"
#include "store/redis/node.h"
#include "store/redis/refusal.h"
#include "store/redis/script.h"
#include "store/redis/sentinel_watch.h"
#include "store/redis/settings.h"

namespace weir::store::redis {

// A call on its way. `body` is what follows the script: number of keys, keys, arguments.
struct ScriptCall {
  const Script* script = nullptr;
  std::string body;
  std::size_t arguments = 0;  // in the body
  std::uint16_t slot = 0;
  std::int64_t deadline_ns = 0;
  // Whether a reply that is no error can be an answer to this call; null: any can.
  bool (*fits)(const resp::Reply& reply) = nullptr;
  OnOutcome done;
};

class Client {
 public:
  Client(net::Loop& loop, const Settings& settings, Health& health);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start();
  void close();

  void run(ScriptCall call);
  // A plain command for the keys of one slot, sent once.
  void send(std::string command, std::uint16_t slot, std::int64_t deadline_ns, OnOutcome done);

 private:
  struct Attempt;

  static constexpr int kMaxTries = 6;
  static constexpr std::size_t kMaxRetries = 4096;
  static constexpr Duration kTextArrives = std::chrono::milliseconds(100);
  static constexpr Duration kRetryAfter = std::chrono::milliseconds(2);
  static constexpr Duration kRefreshEvery = std::chrono::milliseconds(250);
  static constexpr Duration kRefreshAlways = std::chrono::seconds(10);

  Node* node_for(std::uint16_t slot);
  Node* node_at(const Address& address);
  std::shared_ptr<Node> make_node(const Address& address);
  void dispatch(Attempt* attempt);
  void send_to(Node* node, Attempt* attempt, bool asking);
  void finish(Attempt* attempt, const Outcome& outcome);
  void take_outcome(Attempt* attempt, const Outcome& outcome);
  bool try_again(Attempt* attempt, Refusal refusal, std::string_view error);
  bool send_text(Attempt* attempt);
  bool follow(Attempt* attempt, Refusal refusal, std::string_view error);
  bool retry_later(Attempt* attempt);
  void arm_retries();
  void mistrust(const Address& address);
  void note(Refusal refusal, const Address& by, const std::string& error);

  void node_ready(const Address& address);
  void node_lost();
  void sentinel_failed(const Address& sentinel, const std::string& reason);
  void use_primary(const Address& primary);
  void refresh();
  void take_slots(const Address& asked, const Outcome& outcome);
  void forget_unused_nodes();
  void arm_refresh();

  net::Loop& loop_;
  const Settings& settings_;
  Health& health_;
  bool closed_ = false;
  std::map<Address, std::shared_ptr<Node>> nodes_;
  std::shared_ptr<Node> single_;  // not a cluster: the primary
  std::unique_ptr<SentinelWatch> sentinels_;
  std::set<std::string> mute_sentinels_;  // told of as in trouble
  ClusterMap slots_;
  bool refreshing_ = false;
  bool wants_refresh_ = false;
  std::int64_t refreshed_ns_ = 0;
  std::size_t next_seed_ = 0;
  std::vector<Attempt*> retries_;
  std::string out_;  // of the call being sent
  // When a script's text was last sent to a node: calls behind it can do without.
  std::map<std::pair<Address, const Script*>, std::int64_t> texts_;
  std::vector<std::string> troubles_;
  net::SteadyTimer refresh_timer_;
  net::SteadyTimer retry_timer_;
  bool retries_armed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::store::redis
