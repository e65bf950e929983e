// ServerState: what all loops know of one server of a group: its health, told to people, and what
// became of the requests that went to it.
//
// THREADS: any.

#pragma once

#include <string>
#include <string_view>

#include "base/metrics.h"
#include "policy/policy.h"
#include "serve/gateway/health.h"

namespace weir::gateway {

class ServerState {
 public:
  ServerState(const policy::Upstream& server, const policy::UpstreamGroup& group,
              metrics::Registry& registry);

  const std::string& url() const { return url_; }
  Health& health() { return health_; }

  // A request has got the head of its answer.
  void answered() {
    answered_.add();
    if (!alone_) tell_back(health_.answered());
  }
  // A request has got none, and it was the server's fault. The only server is never put out by
  // that: there is nobody else to ask.
  void failed(std::int64_t now_ns, std::string_view why);
  void checked(bool passed, std::string_view why);

 private:
  void tell_back(Health::Change change);
  void tell_out(std::string_view why);

  const std::string url_;
  const bool alone_;
  Health health_;
  metrics::Counter answered_;
  metrics::Counter failed_;
  metrics::Counter put_out_;
};

}  // namespace weir::gateway
