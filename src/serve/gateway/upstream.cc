#include "serve/gateway/upstream.h"

#include <algorithm>
#include <utility>

#include "net/unix_socket.h"

namespace weir::gateway {

// ---- ConnectAttempt

void ConnectAttempt::cancel() {
  owner_ = nullptr;
  net::SystemError ignored;
  socket_.close(ignored);
  if (opening_) opening_->close();
}

void ConnectAttempt::fail(const std::string& why, bool resolved) {
  if (Owner* const owner = std::exchange(owner_, nullptr)) owner->on_connect_failed(why, resolved);
}

void ConnectAttempt::start(const Result<std::vector<net::Endpoint>>& addresses, std::size_t first) {
  if (owner_ == nullptr) return;
  if (!addresses) {
    fail(addresses.error().message, false);
    return;
  }
  endpoints_ = *addresses;
  next_ = first;
  try_next({});
}

void ConnectAttempt::try_next(net::SystemError last) {
  if (tried_ == endpoints_.size()) {
    fail(last.message(), true);
    return;
  }
  const net::Endpoint endpoint = endpoints_[next_++ % endpoints_.size()];
  ++tried_;
  net::SystemError error;
  socket_.close(error);
  socket_.open(endpoint.protocol(), error);
  if (error) {
    fail(error.message(), true);
    return;
  }
  socket_.set_option(net::Tcp::no_delay(true), error);
  socket_.async_connect(endpoint, [self = ConnectAttemptPtr(this)](const net::SystemError& failed) {
    if (self->owner_ == nullptr) return;
    if (failed) return self->try_next(failed);
    net::SystemError ignored;
    self->socket_.native_non_blocking(true, ignored);
    self->connected(net::Transport(FileDescriptor(self->socket_.release(ignored))));
  });
}

void ConnectAttempt::start_unix() {
  if (owner_ == nullptr) return;
  Result<FileDescriptor> socket = net::connect_unix_socket(target_.path);
  if (!socket) return fail(socket.error().message, true);
  connected(net::Transport(std::move(*socket)));
}

void ConnectAttempt::connected(net::Transport transport) {
  if (!tls_) return on_open(std::move(transport), std::nullopt);
  auto session = tls_->connect(transport.fd(), target_.host);
  if (!session) return fail("no memory for TLS", true);
  transport.speak(std::move(session));
  opening_ = new net::Opening(loop_, *this, std::move(transport), false);
  opening_->start();
}

void ConnectAttempt::on_open(net::Transport transport, const std::optional<IpAddress>&) {
  if (Owner* const owner = std::exchange(owner_, nullptr)) {
    owner->on_connected(new net::Connection(loop_, std::move(transport), max_input_));
  }
}

void ConnectAttempt::on_open_failed(net::Opening::Stage, const std::string& why) {
  fail("TLS: " + why, true);
}

// ---- Upstream

// Owns one connection while nobody uses it. Kept and used again, so that giving a connection back
// allocates nothing.
class Upstream::Idle final : public net::Connection::Owner {
 public:
  explicit Idle(Upstream& upstream)
      : upstream_(upstream),
        deadline_(upstream.loop_.timers(), [this] { upstream_.drop(*this); }) {}
  ~Idle() {
    if (connection_) connection_->close();
  }

  void hold(net::ConnectionPtr connection) {
    connection_ = std::move(connection);
    connection_->set_owner(this);
    connection_->read();
    deadline_.expires_after(kIdleTime);
  }

  net::ConnectionPtr release() {
    deadline_.cancel();
    connection_->set_owner(nullptr);
    return std::move(connection_);
  }

  // Closed by the upstream, or it says what nobody asked for: no use either way.
  void on_input(net::Connection&) override { upstream_.drop(*this); }
  void on_output(net::Connection&) override {}

 private:
  Upstream& upstream_;
  net::ConnectionPtr connection_;
  net::Deadline deadline_;
};

Upstream::Upstream(net::Loop& loop, policy::Upstream target, const UpstreamTls& tls)
    : loop_(loop),
      target_(std::move(target)),
      tls_(tls),
      name_(target_.address.to_string()),
      addresses_(loop, target_.address.host, target_.address.port) {}

Upstream::~Upstream() = default;

void Upstream::drop(Idle& idle) {
  const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const std::unique_ptr<Idle>& held) {
    return held.get() == &idle;
  });
  if (at == idle_.end()) return;
  idle.release()->close();
  spare_.push_back(std::move(*at));
  idle_.erase(at);
}

net::ConnectionPtr Upstream::take_idle(bool certain) {
  while (!idle_.empty()) {
    std::unique_ptr<Idle> newest = std::move(idle_.back());
    idle_.pop_back();
    net::ConnectionPtr connection = newest->release();
    spare_.push_back(std::move(newest));
    const bool usable = target_.address.is_unix() || addresses_.has_peer(connection->fd());
    if (usable && (!certain || !connection->has_unread_event())) return connection;
    connection->close();
  }
  return nullptr;
}

void Upstream::give_back(net::ConnectionPtr connection) {
  if (idle_.size() >= kMaxIdle) {
    connection->close();
    return;
  }
  if (!connection->reading()) connection->shrink();
  std::unique_ptr<Idle> holder;
  if (spare_.empty()) {
    holder = std::make_unique<Idle>(*this);
  } else {
    holder = std::move(spare_.back());
    spare_.pop_back();
  }
  holder->hold(std::move(connection));
  idle_.push_back(std::move(holder));
}

ConnectAttemptPtr Upstream::connect(ConnectAttempt::Owner& owner, std::size_t max_input) {
  ConnectAttemptPtr attempt(
      new ConnectAttempt(loop_, owner, max_input, target_, target_.tls ? tls_.current() : nullptr));
  if (target_.address.is_unix()) {
    loop_.post([attempt] { attempt->start_unix(); });
    return attempt;
  }
  const std::size_t first = next_address_++;
  addresses_.get([attempt, first, &loop = loop_](const Result<std::vector<net::Endpoint>>& found) {
    // Posted: addresses that are known are given at once, and the owner is not to hear before
    // connect() has returned.
    loop.post([attempt, first, found] { attempt->start(found, first); });
  });
  return attempt;
}

}  // namespace weir::gateway
