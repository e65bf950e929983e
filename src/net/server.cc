#include "net/server.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/log.h"

namespace weir::net {
namespace {

constexpr int kAcceptBatch = 64;  // connections taken in one turn, so that others get theirs
constexpr Duration kPause = std::chrono::milliseconds(50);

bool is_out_of_resources(int number) {
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

IpAddress ip_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    std::array<std::uint8_t, 16> bytes;
    memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, bytes.size());
    return IpAddress::v6(bytes);
  }
  return IpAddress::v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
}

}  // namespace

// What drain() waits for: every loop's last session. The last one out runs `done`.
struct Server::Draining {
  std::atomic<std::size_t> left;
  std::function<void()> done;

  void shard_done() {
    if (left.fetch_sub(1) == 1) done();
  }
};

struct Server::Shard {
  Shard(Server& owner, Loop& on, FileDescriptor listening, bool v6)
      : loop(on),
        acceptor(on.executor()),
        retry(on.timers(), [this, &owner] { owner.accept_ready(*this); }),
        deadline(on.timers(), [this] { sessions.abort_all(); }) {
    acceptor.assign(v6 ? Tcp::v6() : Tcp::v4(), listening.release());
    sessions.on_remove([this, &owner] { session_removed(owner, *this); });
  }

  Loop& loop;
  Acceptor acceptor;
  SessionSet sessions;
  Deadline retry;     // after running out of file descriptors
  Deadline deadline;  // of a drain
  bool full = false;  // waits for a session to end before it accepts again
  bool short_of_files = false;
  std::shared_ptr<Draining> draining;  // WHY shared: each shard counts down the same drain
};

Server::Server(Loops& loops, Options options, Accept accept)
    : options_(std::move(options)), accept_(std::move(accept)) {
  std::size_t max = options_.max_connections;
  if (max == 0) max = raise_file_limit() / 2;
  max_per_shard_ = std::max<std::size_t>(max / loops.size(), 1);
}

Result<std::unique_ptr<Server>> Server::open(Loops& loops, Options options, Accept accept) {
  Result<ListeningSockets> listening = listen_on(options.listen, loops.size());
  if (!listening) return listening.error();
  std::unique_ptr<Server> server(new Server(loops, std::move(options), std::move(accept)));
  server->port_ = listening->port;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    server->shards_.push_back(std::make_unique<Shard>(
        *server, loops.at(i), std::move(listening->sockets[i]), listening->is_v6));
  }
  return server;
}

Server::~Server() {
  for (const auto& shard : shards_) {
    SystemError ignored;
    shard->acceptor.close(ignored);
    shard->draining.reset();
    shard->sessions.on_remove(nullptr);
    shard->sessions.abort_all();
    shard->loop.run_ready();
  }
}

void Server::start() {
  for (const auto& shard : shards_) {
    shard->loop.post([this, &shard = *shard] { wait_for_connection(shard); });
  }
}

void Server::wait_for_connection(Shard& shard) {
  if (!shard.acceptor.is_open()) return;
  shard.acceptor.async_wait(Acceptor::wait_read, [this, &shard](const SystemError& error) {
    if (!error) accept_ready(shard);
  });
}

void Server::accept_ready(Shard& shard) {
  for (int i = 0; i < kAcceptBatch; ++i) {
    if (!shard.acceptor.is_open()) return;
    if (shard.sessions.size() >= max_per_shard_) {
      shard.full = true;
      return;
    }
    if (!accept_one(shard)) return;
  }
  wait_for_connection(shard);
}

// Takes one connection. False when the shard shall not go on now; then its next wake is arranged.
bool Server::accept_one(Shard& shard) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = accept4(shard.acceptor.native_handle(), reinterpret_cast<sockaddr*>(&address),
                         &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (is_out_of_resources(errno)) {
      pause(shard, errno);
      return false;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) return true;  // one that died in the queue
    wait_for_connection(shard);
    return false;
  }
  shard.short_of_files = false;
  accept_(shard.loop, shard.sessions, Transport(FileDescriptor(fd)), ip_of(address));
  return true;
}

void Server::pause(Shard& shard, int error_number) {
  if (!shard.short_of_files) {
    log::error(options_.name + ": cannot accept connections on " + address() + ": " +
               strerror(error_number) +
               "; trying again every 50 ms. Raise the limit of open files");
  }
  shard.short_of_files = true;
  shard.retry.expires_after(kPause);
}

void Server::session_removed(Server& server, Shard& shard) {
  if (shard.draining && shard.sessions.size() == 0) {
    const std::shared_ptr<Draining> draining = std::move(shard.draining);
    shard.deadline.cancel();
    draining->shard_done();
    return;
  }
  if (shard.full && shard.acceptor.is_open()) {
    shard.full = false;
    server.wait_for_connection(shard);
  }
}

void Server::drain(Duration within, std::function<void()> done) {
  if (drain_asked_.exchange(true)) return;
  auto draining = std::make_shared<Draining>();
  draining->left = shards_.size();
  draining->done = std::move(done);
  for (const auto& shard : shards_) {
    shard->loop.post(
        [this, &shard = *shard, within, draining] { drain_shard(shard, within, draining); });
  }
}

void Server::drain_shard(Shard& shard, Duration within, std::shared_ptr<Draining> draining) {
  // What the kernel has already accepted on our behalf is served: closing the socket would reset
  // connections that clients believe in.
  for (int i = 0; i < kAcceptBatch && shard.sessions.size() < max_per_shard_; ++i) {
    if (!shard.acceptor.is_open() || !accept_one(shard)) break;
  }
  SystemError ignored;
  shard.retry.cancel();
  shard.acceptor.close(ignored);
  shard.sessions.drain_all();
  if (shard.sessions.size() == 0) {
    draining->shard_done();
    return;
  }
  shard.draining = std::move(draining);
  shard.deadline.expires_after(within);
}

std::string Server::address() const {
  return ListenAddress{options_.listen.host, port_}.to_string();
}

std::size_t Server::connections() const {
  std::size_t sum = 0;
  for (const auto& shard : shards_) sum += shard->sessions.size();
  return sum;
}

}  // namespace weir::net
