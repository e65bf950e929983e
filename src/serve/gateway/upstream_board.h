// UpstreamBoard: what all loops know together of the servers behind the gateway: TLS towards them,
// the state of each, and the checks. A reload keeps the state of a server that stays in a group of
// the same settings.
//
// THREADS: any, but where said.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "serve/gateway/server_check.h"
#include "serve/gateway/server_state.h"
#include "serve/gateway/upstream_tls.h"
#include "weir/result.h"

namespace weir::gateway {

class UpstreamBoard {
 public:
  // Checks run on the first of the loops. REQUIRES: both outlive it, and the loops stand still when
  // it is destroyed.
  UpstreamBoard(net::Loops& loops, metrics::Registry& registry);

  // Reads what the policy names of TLS towards upstreams, when a file has changed too; what it
  // gives puts that in force, before the policy is. ERRORS: kInvalid, naming the file.
  Result<std::function<void()>> prepare_tls(const policy::Gateway& settings) {
    return tls_.prepare(settings);
  }
  const UpstreamTls& tls() const { return tls_; }

  // The state of this server in such a group.
  std::shared_ptr<ServerState> state(const policy::Upstream& server,
                                     const policy::UpstreamGroup& group);

  // These are the servers in force: they are shown and checked. THREADS: one at a time.
  void install(const policy::Gateway& settings);

 private:
  // A server that is to be checked.
  struct Checked {
    policy::Upstream server;
    policy::HealthCheck check;
    std::shared_ptr<ServerState> state;
  };
  void keep_checking(std::vector<Checked> wanted);
  void write_up(metrics::TextWriter& out);

  net::Loop& loop_;
  metrics::Registry& registry_;
  UpstreamTls tls_;
  std::map<const ServerState*, std::unique_ptr<ServerCheck>> checks_;  // the loop's
  std::mutex mutex_;                                                   // of all below
  std::map<std::string, std::weak_ptr<ServerState>> known_;
  std::vector<std::shared_ptr<ServerState>> in_force_;
};

}  // namespace weir::gateway
