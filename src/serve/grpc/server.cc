#include "serve/grpc/server.h"

#include "serve/grpc/session.h"

namespace weir::grpc {

Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Methods methods) {
  options.listener.tls_protocol = "h2";
  net::ListenOptions listener = options.listener;
  // WHY shared: the accept function owns what its sessions refer to, and std::function is copied.
  const auto settings = std::make_shared<const Options>(std::move(options));
  const auto offered = std::make_shared<const Methods>(std::move(methods));
  return net::Server::open(loops, std::move(listener),
                           [settings, offered](net::Loop& loop, net::SessionSet& sessions,
                                               net::Transport transport, const IpAddress&) {
                             new Session(loop, sessions, std::move(transport), *settings,
                                         *offered);  // owns itself
                           });
}

}  // namespace weir::grpc
