// FleetBans: bans that a fleet shares, in the Redis that counts.
//
// Refusals are counted there (lua/ban.lua), by its clock, so that it does not matter which instance
// gave them; the ban that follows reaches every instance within half a second, and that which gave
// the last refusal at once. While Redis does not answer, or more refusals wait for it than may,
// each instance counts its own.
//
// THREADS: the control loop's. What the engine tells comes from any.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/ban_book.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "store/redis/client.h"
#include "store/redis/health.h"
#include "store/redis/settings.h"
#include "weir/result.h"

namespace weir::app {

class FleetBans {
 public:
  // From now on the book asks here. REQUIRES: no request has come yet, and the last one has been
  // answered before this goes; the book and the clock outlive it.
  // ERRORS: kInvalid: the store's URL or TLS files.
  static Result<std::unique_ptr<FleetBans>> open(net::Loop& loop, const policy::Store& store,
                                                 engine::BanBook& book, const Clock& clock);
  ~FleetBans();

  // Connects, and follows what the fleet does, once a policy has a limit with `ban`.
  void follow(const policy::Policy& policy);

 private:
  static constexpr Duration kAskEvery = std::chrono::milliseconds(400);
  static constexpr Duration kPatience = std::chrono::seconds(2);
  static constexpr std::uint32_t kMaxWaiting = 1024;  // refusals that Redis has not answered

  // One call of the script; `done` is told null where there was no right answer.
  struct Call {
    std::string_view verb;
    std::string key;                     // of the book and the limit; or a version
    std::vector<std::string> arguments;  // what follows
    std::function<void(const resp::Reply* reply)> done;
  };

  FleetBans(net::Loop& loop, store::redis::Settings settings, std::string names,
            engine::BanBook& book, const Clock& clock);

  bool may_wait();
  bool refused(std::string_view limit, const policy::Ban& ban, std::string_view key);
  void lifted(std::string_view limit, std::string_view key);
  void run(Call call);
  void ask();
  void take_changes(const resp::Reply* reply);

  net::Loop& loop_;
  const store::redis::Settings settings_;
  const std::string names_;  // of its keys in Redis, but for their ends
  engine::BanBook& book_;
  const Clock& clock_;
  store::redis::Health health_;
  store::redis::Client client_;
  net::SteadyTimer timer_;
  std::string version_ = "0";  // of what has been told
  // Relaxed: nothing else hangs on either.
  std::atomic<bool> follows_{false};
  std::atomic<std::uint32_t> waiting_{0};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // the control loop's
};

}  // namespace weir::app
