#include "serve/gateway/upstream_board.h"

#include <algorithm>
#include <utility>

namespace weir::gateway {
namespace {

// Tells states apart that must not be shared: by the server, and by what judges it.
std::string key_of(const policy::Upstream& server, const policy::UpstreamGroup& group) {
  std::string key = server.url();
  const auto add = [&key](std::int64_t number) { key += ' ' + std::to_string(number); };
  add(group.servers.size() == 1);
  add(group.eject.failures);
  add(group.eject.base_time.count());
  add(group.eject.max_time.count());
  if (group.check) {
    add(group.check->every.count());
    add(group.check->timeout.count());
    add(group.check->healthy_after);
    add(group.check->unhealthy_after);
    key += ' ' + group.check->host + group.check->path;
  }
  return key;
}

}  // namespace

UpstreamBoard::UpstreamBoard(net::Loops& loops, metrics::Registry& registry)
    : loop_(loops.at(0)), registry_(registry) {
  registry.family_from(
      "weir_upstream_up", "Whether requests go to an upstream's server: 0 while it is out.",
      metrics::Type::kGauge,
      [this](const metrics::Snapshot&, metrics::TextWriter& out) { write_up(out); });
}

std::shared_ptr<ServerState> UpstreamBoard::state(const policy::Upstream& server,
                                                  const policy::UpstreamGroup& group) {
  const std::string key = key_of(server, group);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<ServerState>& known = known_[key];
  if (auto state = known.lock()) return state;
  auto made = std::make_shared<ServerState>(server, group, registry_);
  known = made;
  return made;
}

void UpstreamBoard::install(const policy::Gateway& settings) {
  std::vector<std::shared_ptr<ServerState>> now;
  std::vector<Checked> checked;
  const auto add = [&](const policy::UpstreamGroup& group) {
    for (const policy::Upstream& server : group.servers) {
      now.push_back(state(server, group));
      if (group.check) checked.push_back({server, *group.check, now.back()});
    }
  };
  add(settings.upstream);
  for (const policy::Route& route : settings.routes) add(route.upstream);
  loop_.post([this, checked = std::move(checked)]() mutable { keep_checking(std::move(checked)); });
  const std::lock_guard lock(mutex_);
  in_force_ = std::move(now);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
}

// Those that are checked already go on, so that a reload does not make a check late.
void UpstreamBoard::keep_checking(std::vector<Checked> wanted) {
  std::map<const ServerState*, std::unique_ptr<ServerCheck>> now;
  for (Checked& one : wanted) {
    std::unique_ptr<ServerCheck>& check = now[one.state.get()];
    if (check) continue;  // of two groups with the same settings
    const auto known = checks_.find(one.state.get());
    check = known != checks_.end()
                ? std::move(known->second)
                : std::make_unique<ServerCheck>(loop_, one.server, one.check, tls_, one.state);
  }
  checks_ = std::move(now);
}

// One series for each server: one that is out in any of its groups is shown as out.
void UpstreamBoard::write_up(metrics::TextWriter& out) {
  std::map<std::string, bool> up;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& state : in_force_) {
      bool& in = up.emplace(state->url(), true).first->second;
      in = in && state->health().in();
    }
  }
  for (const auto& [url, in] : up) out.gauge({{"upstream", url}}, in ? 1.0 : 0.0);
}

}  // namespace weir::gateway
