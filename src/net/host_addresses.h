// HostAddresses: the addresses of one host and port, looked up when needed and again when old.
//
// An IP address is its own answer. A name is asked of the system's resolver, on a thread of Asio's;
// while an old answer is being renewed it is still given, and it stays when the renewal fails.
//
// THREADS: one loop's.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/loop.h"
#include "weir/result.h"

namespace weir::net {

class HostAddresses {
 public:
  static constexpr Duration kFresh = std::chrono::seconds(10);

  // REQUIRES: lives as long as the loop has handlers to run.
  HostAddresses(Loop& loop, std::string host, std::uint16_t port);
  ~HostAddresses();
  HostAddresses(const HostAddresses&) = delete;
  HostAddresses& operator=(const HostAddresses&) = delete;

  using Ready = std::function<void(const Result<std::vector<Endpoint>>&)>;
  // Calls `ready` with at least one endpoint or an error: at once where they are known, else later.
  void get(Ready ready);

  // Whether the peer of this connected socket is one of the addresses still; looks them up again
  // when old. True of a peer that cannot be told. A system call only once a name has moved.
  bool has_peer(int fd);

 private:
  struct Lookup;
  void look_up_if_old();
  void start_lookup();
  void finish_lookup(const SystemError& error, std::vector<Endpoint> found);

  Loop& loop_;
  const std::string host_;
  const std::uint16_t port_;
  bool literal_ = false;
  bool moved_ = false;  // a look-up has found other addresses than the one before
  std::vector<Endpoint> known_;
  std::int64_t renew_at_ns_ = 0;
  bool looking_up_ = false;
  std::vector<Ready> waiting_;
  TcpResolver resolver_;
  std::shared_ptr<HostAddresses*> self_;  // WHY shared: a lookup cannot be cancelled while it runs
};

}  // namespace weir::net
