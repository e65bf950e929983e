// Gateway: the HTTP/1.1 reverse proxy that asks the engine before it passes a request on.
//
// A policy that is swapped in takes effect for the next request; its header bounds for the next
// connection. The address listened on stays what it was.
//
// THREADS: as net::Server.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/server.h"
#include "serve/gateway/access_log.h"
#include "serve/gateway/worker.h"
#include "weir/result.h"

namespace weir::gateway {

class Gateway {
 public:
  // Accepts nothing before start().
  // REQUIRES: from start() on the engine has a policy with a `gateway` section, and the board has
  // read what it names of TLS; what is referred to outlives the gateway.
  // ERRORS: kIo, kInvalid: the address cannot be listened on; the message names it.
  static Result<std::unique_ptr<Gateway>> open(net::Loops& loops, net::ListenOptions listener,
                                               engine::Engine& engine, const Clock& clock,
                                               metrics::Registry& registry, UpstreamBoard& board);

  // REQUIRES: the loops are stopped, or were never started.
  ~Gateway() = default;

  void start() { server_->start(); }
  // Stops accepting, finishes what is in flight within `within`, then runs `done` on a loop.
  void drain(Duration within, std::function<void()> done) {
    server_->drain(within, std::move(done));
  }

  // Writes a line for each request where the policy says so, from now on.
  // ERRORS: kIo, naming the file; what was in force stays.
  Result<bool> use_access_log(const policy::Gateway& settings) {
    return access_log_.use(settings.access_log);
  }
  // Opens its file again, for whoever has moved it away.
  void reopen_access_log() { access_log_.reopen(); }

  net::Server& server() { return *server_; }
  const net::Server& server() const { return *server_; }
  std::uint16_t port() const { return server_->port(); }
  std::size_t connections() const { return server_->connections(); }

 private:
  Gateway(metrics::Registry& registry, const Clock& clock)
      : counters_(registry, clock), access_log_(registry) {}

  Counters counters_;
  AccessLog access_log_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a loop
  std::unique_ptr<net::Server> server_;           // ends its sessions before the workers go
};

}  // namespace weir::gateway
