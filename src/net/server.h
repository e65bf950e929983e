// Server: a listener with one accepting socket a loop, its connections counted and drained.
//
// Out of file descriptors it pauses and tries again, 50 ms later, in place of spinning; at
// `max_connections` it leaves newcomers in the kernel's queue until one of its own ends. A client
// that has `max_connections_per_client` open is closed at once with the next; trusted proxies,
// which speak for many, are not counted.
//
// Connections that begin with a PROXY protocol header or with TLS become sessions once that is
// through (arrivals.h).
//
// THREADS: open, start and the destructor from one thread; the rest from any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/metrics.h"
#include "net/arrivals.h"
#include "net/client_places.h"
#include "net/listening_socket.h"
#include "net/loop.h"
#include "net/session.h"
#include "net/tls_server.h"
#include "net/transport.h"
#include "weir/result.h"

namespace weir::net {

// What every listener is told, whatever it speaks.
struct ListenOptions {
  std::string name;  // for log lines and metrics: "gateway"
  ListenAddress listen;
  std::size_t max_connections = 0;             // of all loops together; 0: half of the file limit
  std::size_t max_connections_per_client = 0;  // 0: no bound
  bool proxy_protocol = false;  // connections begin with its header; only trusted ones may
  std::optional<TlsServerFiles> tls;
  std::string tls_protocol;  // what ALPN agrees on; empty: a client's wishes are not looked at
  std::function<bool(const IpAddress&)> is_trusted;  // trusted proxies; null: none are
  metrics::Registry* registry = nullptr;             // null: nothing is counted
  InheritedSockets* inherited = nullptr;             // asked while the listener is opened
};

class Server {
 public:
  // Runs on the loop that accepted. Makes a Session that adds itself to `sessions`, owns the
  // transport, and on its end removes itself, then destroys itself by a post to the loop.
  // `peer` is the other end; 127.0.0.1 at the other end of a unix socket. The socket sends without
  // delay (TCP_NODELAY).
  using Accept = std::function<void(Loop& loop, SessionSet& sessions, Transport transport,
                                    const IpAddress& peer)>;

  // Binds and listens, so that a port in use is an error here; accepts nothing before start().
  // REQUIRES: the loops outlive the server.
  static Result<std::unique_ptr<Server>> open(Loops& loops, ListenOptions options, Accept accept);

  // REQUIRES: the loops are stopped, or were never started. Sessions that are left are aborted.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();

  // Stops accepting, lets sessions finish what is in flight, aborts what is left after `within`;
  // then runs `done`, once, on one of the loops. The first call counts.
  void drain(Duration within, std::function<void()> done);

  // The files of TLS have changed, or their names have. What it gives puts them in force, for the
  // next connection. REQUIRES: it was opened with TLS.
  Result<std::function<void()>> prepare_tls(const TlsServerFiles& files);
  bool has_tls() const { return tls_ != nullptr; }

  // Copies of the listening sockets, for a process that is to take over.
  std::vector<FileDescriptor> share_sockets() const;
  // It has: drain() leaves what waits in the queues to it, and the file of a unix socket too.
  void set_handed_over();

  std::uint16_t port() const { return port_; }
  std::string address() const;      // "127.0.0.1:8080", with the real port
  std::size_t connections() const;  // open now

 private:
  struct Shard;
  struct Draining;

  Server(ListenOptions options, Accept accept);
  Result<bool> set_up_tls();
  void set_bounds(std::size_t shards);
  void set_up_counters();
  void wait_for_connection(Shard& shard);
  void accept_ready(Shard& shard);
  bool accept_one(Shard& shard);
  void arrive(Shard& shard, Transport transport, const IpAddress& peer);
  void admit(Shard& shard, Transport transport, const IpAddress& client);
  void pause(Shard& shard, int error_number);
  void drain_shard(Shard& shard, Duration within, std::shared_ptr<Draining> draining);
  static void session_removed(Server& server, Shard& shard);

  bool is_trusted(const IpAddress& peer) const {
    return options_.is_trusted && options_.is_trusted(peer);
  }

  const ListenOptions options_;
  const Accept accept_;
  std::unique_ptr<TlsServer> tls_;
  ArrivalOptions arrival_options_;
  metrics::Counter refused_per_client_;
  metrics::Counter refused_untrusted_;
  ClientPlaces places_;
  std::uint16_t port_ = 0;
  UnixSocketFile file_;
  std::size_t max_per_shard_ = 1;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<bool> drain_asked_{false};
  std::atomic<bool> started_{false};
  std::atomic<bool> handed_over_{false};
};

}  // namespace weir::net
