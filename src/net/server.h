// Server: a listener with one accepting socket a loop, its connections counted and drained.
//
// Out of file descriptors it pauses and tries again, 50 ms later, in place of spinning; at
// `max_connections` it leaves newcomers in the kernel's queue until one of its own ends.
//
// THREADS: open, start and the destructor from one thread; drain and the figures from any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "net/listening_socket.h"
#include "net/loop.h"
#include "net/session.h"
#include "net/transport.h"
#include "weir/result.h"

namespace weir::net {

class Server {
 public:
  // Runs on the loop that accepted. Makes a Session that adds itself to `sessions`, owns the
  // transport, and on its end removes itself, then destroys itself by a post to the loop.
  // `peer` is the other end. The socket sends without delay (TCP_NODELAY).
  using Accept = std::function<void(Loop& loop, SessionSet& sessions, Transport transport,
                                    const IpAddress& peer)>;

  struct Options {
    std::string name;  // for log lines: "gateway"
    ListenAddress listen;
    std::size_t max_connections = 0;  // of all loops together; 0: half of the file limit
  };

  // Binds and listens, so that a port in use is an error here; accepts nothing before start().
  // REQUIRES: the loops outlive the server.
  static Result<std::unique_ptr<Server>> open(Loops& loops, Options options, Accept accept);

  // REQUIRES: the loops are stopped, or were never started. Sessions that are left are aborted.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();

  // Stops accepting, lets sessions finish what is in flight, aborts what is left after `within`;
  // then runs `done`, once, on one of the loops. The first call counts.
  void drain(Duration within, std::function<void()> done);

  std::uint16_t port() const { return port_; }
  std::string address() const;      // "127.0.0.1:8080", with the real port
  std::size_t connections() const;  // open now

 private:
  struct Shard;
  struct Draining;

  Server(Loops& loops, Options options, Accept accept);
  void wait_for_connection(Shard& shard);
  void accept_ready(Shard& shard);
  bool accept_one(Shard& shard);
  void pause(Shard& shard, int error_number);
  void drain_shard(Shard& shard, Duration within, std::shared_ptr<Draining> draining);
  static void session_removed(Server& server, Shard& shard);

  const Options options_;
  const Accept accept_;
  std::uint16_t port_ = 0;
  std::size_t max_per_shard_ = 1;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<bool> drain_asked_{false};
};

}  // namespace weir::net
