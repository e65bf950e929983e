// Runtime: everything that one `weir serve` runs, from the policy to the listeners.
//
//   clock, metrics, store -> engine -> gateway, api, resp, grpc, admin  on one loop a CPU
//
// THREADS: the main thread's; its listeners run on the loops.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/store.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/server.h"
#include "policy/load.h"
#include "serve/admin/handler.h"
#include "serve/gateway/gateway.h"
#include "serve/grpc/rate_limiter.h"
#include "weir/result.h"

namespace weir::app {

class TestClock;

class Runtime {
 public:
  // Puts the policy in force and opens every listener that it names; serves nothing yet.
  // ERRORS: what the policy's numbers, a listener or the test clock refuse.
  static Result<std::unique_ptr<Runtime>> open(policy::Policy policy, const ServeOptions& options);
  ~Runtime();

  // One line a listener, and the policy in force.
  void print_start() const;
  void start();
  // Finishes what is in flight, within the policy's `gateway.timeouts.drain`, and stops the loops.
  void stop();

  // Puts a policy in force that has been loaded again, or keeps the one it has and says why.
  void reload(const std::string& file);

 private:
  explicit Runtime(const ServeOptions& options);

  Result<bool> make_clock(const ServeOptions& options);
  Result<bool> install(policy::Policy policy);
  std::string connect_store(const policy::Store& settings);
  Result<bool> open_listeners(const policy::Policy& policy);
  Result<bool> open_resp(const policy::Resp& section);
  Result<bool> open_grpc(const policy::Grpc& section);
  void add_gauges();
  void refuse_reload(std::vector<std::string> reasons);
  admin::Readiness readiness() const;

  SystemClock system_clock_;
#ifdef WEIR_TEST_HOOKS
  std::unique_ptr<TestClock> test_clock_;
#endif
  const Clock* clock_ = &system_clock_;
  metrics::Registry registry_;
  net::Loops loops_;
  OpenedStore store_;
  std::string store_line_;  // what to tell of it at start
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Adhoc> adhoc_;
  std::unique_ptr<grpc::RateLimiter> rate_limiter_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::unique_ptr<net::Server> api_;
  std::unique_ptr<net::Server> resp_;
  std::unique_ptr<net::Server> grpc_;
  std::unique_ptr<net::Server> admin_;

  std::atomic<std::uint64_t> generation_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> reload_mistakes_;  // of the last reload, when it was refused; by mutex_
};

}  // namespace weir::app
