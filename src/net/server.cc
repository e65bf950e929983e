#include "net/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "base/log.h"

namespace weir::net {
namespace {

constexpr std::size_t kMaxArrivals = 1024;  // of all loops together
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
  if (address.ss_family == AF_UNIX) return IpAddress::v4(INADDR_LOOPBACK);
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
  Shard(Server& owner, Loop& on, FileDescriptor listening)
      : loop(on),
        acceptor(on.executor()),
        retry(on.timers(), [this, &owner] { owner.accept_ready(*this); }),
        deadline(on.timers(), [this] { sessions.abort_all(); }),
        arrivals(on, sessions, owner.arrival_options_,
                 [this, &owner](Transport transport, const IpAddress& client) {
                   owner.admit(*this, std::move(transport), client);
                 }) {
    // Whatever its family is: it is only waited on.
    acceptor.assign(Tcp::v4(), listening.release());
    sessions.on_remove([this, &owner] { session_removed(owner, *this); });
  }

  Loop& loop;
  Acceptor acceptor;
  SessionSet sessions;
  Deadline retry;     // after running out of file descriptors
  Deadline deadline;  // of a drain
  Arrivals arrivals;  // before they are sessions
  bool full = false;  // waits for a session to end before it accepts again
  bool short_of_files = false;
  std::shared_ptr<Draining> draining;  // WHY shared: each shard counts down the same drain
};

Server::Server(ListenOptions options, Accept accept)
    : options_(std::move(options)),
      accept_(std::move(accept)),
      places_(options_.max_connections_per_client) {}

Result<std::unique_ptr<Server>> Server::open(Loops& loops, ListenOptions options, Accept accept) {
  std::unique_ptr<Server> server(new Server(std::move(options), std::move(accept)));
  if (Result<bool> ready = server->set_up_tls(); !ready) return ready.error();
  Result<ListeningSockets> listening =
      listen_on(server->options_.listen, loops.size(), server->options_.inherited);
  if (!listening) return listening.error();
  server->port_ = listening->port;
  server->file_ = std::move(listening->file);
  server->set_bounds(listening->sockets.size());
  server->set_up_counters();
  // More sockets than loops come from a process that had more of them: each has a queue of its own.
  for (std::size_t i = 0; i < listening->sockets.size(); ++i) {
    server->shards_.push_back(std::make_unique<Shard>(*server, loops.at(i % loops.size()),
                                                      std::move(listening->sockets[i])));
  }
  return server;
}

Result<bool> Server::set_up_tls() {
  if (!options_.tls) return true;
  auto made = TlsServer::make(*options_.tls, options_.tls_protocol);
  if (!made) return made.error();
  tls_ = std::move(*made);
  return true;
}

void Server::set_bounds(std::size_t shards) {
  std::size_t most = options_.max_connections;
  if (most == 0) most = raise_file_limit() / 2;
  max_per_shard_ = std::max<std::size_t>(most / shards, 1);
  arrival_options_.name = options_.name;
  arrival_options_.proxy_header = options_.proxy_protocol;
  arrival_options_.tls = tls_.get();
  arrival_options_.most = std::max<std::size_t>(kMaxArrivals / shards, 1);
}

void Server::set_up_counters() {
  if (options_.registry == nullptr) return;
  const auto counter = [this](const char* reason) {
    return options_.registry->counter(
        "weir_connections_refused_total",
        "Connections closed before they carried anything, by the reason.",
        {{"listener", options_.name}, {"reason", reason}});
  };
  refused_per_client_ = counter("per_client");
  refused_untrusted_ = counter("untrusted_proxy");
  arrival_options_.counters = {counter("proxy_header"), counter("tls"), counter("timeout"),
                               counter("flood")};
}

Result<std::function<void()>> Server::prepare_tls(const TlsServerFiles& files) {
  return tls_->prepare(files);
}

std::vector<FileDescriptor> Server::share_sockets() const {
  std::vector<FileDescriptor> copies;
  for (const auto& shard : shards_) {
    FileDescriptor copy(fcntl(shard->acceptor.native_handle(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() >= 0) copies.push_back(std::move(copy));
  }
  return copies;
}

void Server::set_handed_over() {
  handed_over_ = true;
  file_.release();
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
  started_ = true;
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
  arrive(shard, Transport(FileDescriptor(fd)), ip_of(address));
  return true;
}

void Server::arrive(Shard& shard, Transport transport, const IpAddress& peer) {
  if (options_.proxy_protocol && !is_trusted(peer)) {
    refused_untrusted_.add();
    shard.arrivals.warn(peer, "it is no trusted proxy (identity.trusted_proxies)");
    return;
  }
  if (options_.proxy_protocol || tls_) {
    shard.arrivals.take(std::move(transport), peer);
  } else {
    admit(shard, std::move(transport), peer);
  }
}

// The connection may carry something: it becomes a session, if its client has a place left.
void Server::admit(Shard& shard, Transport transport, const IpAddress& client) {
  if (options_.max_connections_per_client != 0 && !is_trusted(client)) {
    std::optional<ClientPlace> place = places_.take(client);
    if (!place) {
      refused_per_client_.add();
      return;
    }
    transport.hold(*std::move(place));
  }
  const std::size_t before = shard.sessions.size();
  accept_(shard.loop, shard.sessions, std::move(transport), client);
  if (shard.sessions.draining() && shard.sessions.size() > before) shard.sessions.drain_newest();
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
  // What the kernel has already accepted on our behalf is served, as many as its queue can hold:
  // closing the socket would reset connections that clients believe in.
  for (int i = 0; i < SOMAXCONN && shard.sessions.size() < max_per_shard_; ++i) {
    if (handed_over_ || !started_) break;  // they wait for whoever has the socket now
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
  ListenAddress real = options_.listen;
  if (!real.is_unix()) real.port = port_;
  return real.to_string();
}

std::size_t Server::connections() const {
  std::size_t sum = 0;
  for (const auto& shard : shards_) sum += shard->sessions.size();
  return sum;
}

}  // namespace weir::net
