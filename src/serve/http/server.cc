#include "serve/http/server.h"

#include "serve/http/session.h"

namespace weir::http {

Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Handler handler) {
  return open(loops, std::move(options),
              AsyncHandler([handler = std::move(handler)](const Request& request,
                                                          Response& response, const Done& done) {
                handler(request, response);
                done();
              }));
}

Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options,
                                          AsyncHandler handler) {
  options.listener.tls_protocol = "http/1.1";
  net::ListenOptions listener = options.listener;
  // WHY shared: the accept function owns what its sessions refer to, and std::function is copied.
  const auto settings = std::make_shared<const Options>(std::move(options));
  const auto answer = std::make_shared<const AsyncHandler>(std::move(handler));
  return net::Server::open(loops, std::move(listener),
                           [settings, answer](net::Loop& loop, net::SessionSet& sessions,
                                              net::Transport transport, const IpAddress& peer) {
                             new Session(loop, sessions, std::move(transport), peer, *settings,
                                         *answer);  // owns itself
                           });
}

}  // namespace weir::http
