#include "serve/gateway/gateway.h"

#include <utility>

#include "serve/gateway/session.h"

namespace weir::gateway {

Result<std::unique_ptr<Gateway>> Gateway::open(net::Loops& loops, net::ListenOptions listener,
                                               engine::Engine& engine, const Clock& clock,
                                               metrics::Registry& registry, UpstreamBoard& board) {
  std::unique_ptr<Gateway> gateway(new Gateway(registry, clock));
  for (std::size_t i = 0; i < loops.size(); ++i) {
    gateway->workers_.push_back(std::make_unique<Worker>(
        loops.at(i), engine, clock, gateway->counters_, board, gateway->access_log_));
  }
  listener.tls_protocol = "http/1.1";
  Result<std::unique_ptr<net::Server>> server = net::Server::open(
      loops, std::move(listener),
      [&workers = gateway->workers_](net::Loop& loop, net::SessionSet& sessions,
                                     net::Transport transport, const IpAddress& peer) {
        Session::start(*workers[loop.index()], sessions, std::move(transport), peer);
      });
  if (!server) return server.error();
  gateway->server_ = std::move(*server);
  return gateway;
}

}  // namespace weir::gateway
