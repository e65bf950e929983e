#include "serve/resp/server.h"

#include "serve/resp/commands.h"
#include "serve/resp/session.h"

namespace weir::resp {
namespace {

struct Shared {
  Options options;
  Commands commands;
};

}  // namespace

Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Services services) {
  net::ListenOptions listener = options.listener;
  // WHY shared: the accept function owns what its sessions refer to, and std::function is copied.
  const auto shared =
      std::make_shared<const Shared>(Shared{std::move(options), Commands(services)});
  return net::Server::open(loops, std::move(listener),
                           [shared](net::Loop& loop, net::SessionSet& sessions,
                                    net::Transport transport, const IpAddress&) {
                             new Session(loop, sessions, std::move(transport), shared->options,
                                         shared->commands);  // owns itself
                           });
}

}  // namespace weir::resp
