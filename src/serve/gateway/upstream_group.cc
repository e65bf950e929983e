#include "serve/gateway/upstream_group.h"

namespace weir::gateway {
namespace {

std::vector<Health*> healths(const std::vector<UpstreamGroup::Server>& servers) {
  std::vector<Health*> out;
  for (const UpstreamGroup::Server& server : servers) out.push_back(&server.state->health());
  return out;
}

}  // namespace

UpstreamGroup::UpstreamGroup(net::Loop& loop, std::vector<Server> servers, policy::Balance balance)
    : loop_(loop),
      servers_(std::move(servers)),
      counts_(servers_.size() > 1 && balance == policy::Balance::kLeastConnections),
      balancer_(balance, healths(servers_), loop.index()) {}

bool Choice::next() {
  const std::size_t index = group_->pick(tried_);
  if (index == Balancer::kNone) return false;
  if (group_->counts_) server().state->health().leave();
  take(index);
  return true;
}

void Choice::failed(std::string_view why) {
  server().state->failed(group_->loop_.timers().now_ns(), why);
}

}  // namespace weir::gateway
