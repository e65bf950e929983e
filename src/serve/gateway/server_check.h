// ServerCheck: asks one server again and again whether it is well, and tells its state.
//
//   connect -> GET path -> head of the answer: 2xx and 3xx pass
//
// Each check has a connection of its own, since that is what a new request may need. The next
// begins `every` after the last one began, or at once where that took longer.
//
// THREADS: the loop's. It may be destroyed at any time, but not from within a call of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/connection.h"
#include "net/loop.h"
#include "policy/policy.h"
#include "serve/gateway/server_state.h"
#include "serve/gateway/upstream.h"
#include "wire/http1/response.h"

namespace weir::gateway {

class ServerCheck final : private ConnectAttempt::Owner, private net::Connection::Owner {
 public:
  // Begins at once. REQUIRES: `tls` outlives it.
  ServerCheck(net::Loop& loop, const policy::Upstream& server, const policy::HealthCheck& check,
              const UpstreamTls& tls, std::shared_ptr<ServerState> state);
  ~ServerCheck();

 private:
  void begin();
  void end(bool passed, std::string_view why);
  void stop();

  void on_deadline();
  void on_connected(net::ConnectionPtr connection) override;
  void on_connect_failed(const std::string& why, bool resolved) override;
  void on_input(net::Connection& connection) override;
  void on_output(net::Connection& connection) override;

  net::Loop& loop_;
  const policy::HealthCheck check_;
  const std::string request_;
  const UpstreamPtr server_;
  const std::shared_ptr<ServerState> state_;

  ConnectAttemptPtr attempt_;
  net::ConnectionPtr connection_;
  http1::ResponseParser answer_;
  std::uint32_t interim_count_ = 0;
  bool under_way_ = false;
  std::int64_t begun_at_ns_ = 0;
  net::Deadline deadline_;  // of the check that is under way, else until the next
};

}  // namespace weir::gateway
