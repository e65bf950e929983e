// Runtime: everything that one `weir serve` runs, from the policy to the listeners.
//
//   clock, metrics, store -> engine -> gateway, api, resp, grpc, admin  on one loop a CPU
//
// THREADS: the main thread's; its listeners run on the loops.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/ban_log.h"
#include "app/command_line.h"
#include "app/denial_log.h"
#include "app/hand_over.h"
#include "app/listeners.h"
#include "app/store.h"
#include "app/store_keeper.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "serve/admin/control.h"
#include "serve/admin/handler.h"
#include "weir/result.h"

namespace weir::app {

class TestClock;

class Runtime {
 public:
  // Puts the policy in force and opens every listener that it names; serves nothing yet.
  // `control` answers the admin API, and outlives this.
  // ERRORS: what the policy's numbers, a listener or the test clock refuse.
  static Result<std::unique_ptr<Runtime>> open(policy::Policy policy, const ServeOptions& options,
                                               admin::Control& control);
  ~Runtime();

  // One line a listener, and the policy in force.
  void print_start() const;
  void start();
  // Sends the process away that the listening sockets were taken over from, and hands them to the
  // next that asks, after which `leave` runs, on a thread of its own; nothing without --take-over.
  // REQUIRES: started.
  Result<bool> offer_hand_over(std::function<void()> leave);
  // Finishes what is in flight, within the policy's `gateway.timeouts.drain`, and stops the loops.
  void stop();

  // Puts another policy in force, and brings the listeners in line. ERRORS: what its numbers or a
  // new listener's address refuse; then nothing has changed.
  Result<bool> install(policy::Policy policy);

  // The same for one that has the listeners, certificates and keys of the one in force: reads no
  // file again, so that none that cannot be used just now is in the way.
  Result<bool> change(policy::Policy policy);

  // Reads the certificates again that the policy in force names, and logs what came of it.
  void reload_certificates();

  // Opens log files again, for whoever has moved them away.
  void reopen_logs() { listeners_->reopen_logs(); }

  const Clock& clock() const { return *clock_; }
  metrics::Registry& registry() { return registry_; }
  const engine::Engine& engine() const { return *engine_; }
  engine::BanBook& bans() { return engine_->bans(); }

 private:
  Runtime(const ServeOptions& options, admin::Control& control);

  Result<bool> make_clock(const ServeOptions& options);
  using Compiled = std::shared_ptr<const engine::CompiledPolicy>;
  Result<Compiled> prepare(policy::Policy policy);
  Result<Compiled> compile(policy::Policy policy) const;
  void put_in_force(const policy::Policy& before, const Compiled& next);
  std::string connect_store(const policy::Store& settings);
  Result<net::InheritedSockets> find_inherited(const std::string& take_over);
  Result<bool> open_listeners(net::InheritedSockets inherited);
  http::AsyncHandler admin_handler();
  void add_gauges();
  admin::Readiness readiness() const;
  // What the admin listener tells of the program (runtime_about.cc).
  admin::About about() const;
  admin::StoreState store_state() const;
  std::map<std::string, std::uint64_t> keys_by_limit() const;
  std::vector<std::pair<std::string, std::uint64_t>> inside() const;

  SystemClock system_clock_;
#ifdef WEIR_TEST_HOOKS
  std::unique_ptr<TestClock> test_clock_;
#endif
  const Clock* clock_ = &system_clock_;
  admin::Control& control_;
  metrics::Registry registry_;
  admin::Events events_;
  net::Loops loops_;
  OpenedStore store_;
  std::unique_ptr<StoreKeeper> keeper_;  // of a memory store
  std::string store_line_;               // what to tell of it at start
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Adhoc> adhoc_;
  std::unique_ptr<DenialLog> denial_log_;
  std::unique_ptr<BanLog> ban_log_;
  std::unique_ptr<admin::Admin> admin_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<Listeners::Opened> opened_;  // until start()
  std::unique_ptr<HandOver> hand_over_;
};

}  // namespace weir::app
