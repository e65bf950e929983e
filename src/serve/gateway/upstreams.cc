#include "serve/gateway/upstreams.h"

#include <utility>

#include "engine/request_view.h"

namespace weir::gateway {

void Upstreams::update(const policy::Gateway& gateway, const policy::Paths& paths) {
  Servers servers;
  std::vector<Route> routes;
  for (const policy::Route& written : gateway.routes) {
    routes.push_back(
        {engine::Matcher(written.match, paths), make_group(written.upstream, servers)});
  }
  default_ = gateway.upstream.servers.empty() ? nullptr : make_group(gateway.upstream, servers);
  routes_ = std::move(routes);
  servers_ = std::move(servers);
}

UpstreamGroupPtr Upstreams::make_group(const policy::UpstreamGroup& written, Servers& servers) {
  std::vector<UpstreamGroup::Server> members;
  for (const policy::Upstream& target : written.servers) {
    UpstreamPtr& server = servers[target.url()];
    if (!server) {
      const auto known = servers_.find(target.url());
      server = known != servers_.end() ? known->second : new Upstream(loop_, target, board_.tls());
    }
    members.push_back({server, board_.state(target, written)});
  }
  return new UpstreamGroup(loop_, std::move(members), written.balance);
}

UpstreamGroupPtr Upstreams::find_route(const engine::Attributes& request,
                                       const policy::Paths& paths) const {
  engine::RequestView view(request, paths);
  const Route* const route = engine::first_match(routes_, view);
  return route != nullptr ? route->group : default_;
}

}  // namespace weir::gateway
