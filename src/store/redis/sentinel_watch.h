// SentinelWatch: where the primary is, as the Sentinels say.
//
// Keeps a connection to one Sentinel, asks it once a second and whenever told to look, and hears of
// a switch at once where the Sentinel speaks RESP3 (+switch-master). A Sentinel that does not
// answer, or does not know the name, is left for the next.
//
// THREADS: one loop.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "store/redis/node.h"
#include "store/redis/settings.h"

namespace weir::store::redis {

class SentinelWatch {
 public:
  // `found` is told each answer, the same one again too; `failed` when a Sentinel is of no use.
  using Found = std::function<void(const Address& primary)>;
  using Failed = std::function<void(const Address& sentinel, const std::string& reason)>;

  SentinelWatch(net::Loop& loop, const Settings& settings, Found found, Failed failed);
  ~SentinelWatch();
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;

  void start();
  // Asks now: the primary is gone, or is none.
  void look();

 private:
  static constexpr Duration kAskEvery = std::chrono::seconds(1);

  void use_next(const std::string& reason);
  void connect();
  void subscribe();
  void ask();
  void take_answer(const Outcome& outcome);
  void take_push(const resp::Reply& push);
  void arm();

  net::Loop& loop_;
  const Settings& settings_;
  Found found_;
  Failed failed_;
  std::size_t index_ = 0;
  std::shared_ptr<Node> node_;
  bool asking_ = false;
  net::SteadyTimer timer_;
  // Callbacks that outlive this see that it is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Where "+switch-master" leads: "<name> <old host> <old port> <new host> <new port>". Nothing where
// it is about another name, or cannot be read.
std::optional<Address> switched_to(std::string_view message, std::string_view name);

}  // namespace weir::store::redis
