// Upstream: one server behind the gateway, as one loop sees it: its addresses, and connections that
// wait for the next request.
//
// An idle connection is watched: one that the upstream closes, or speaks on unasked, is dropped at
// once. The newest is used first, so that what is not needed ages and goes.
//
// THREADS: the loop's.

#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/connection.h"
#include "net/host_addresses.h"
#include "net/loop.h"
#include "net/opening.h"
#include "policy/policy.h"
#include "serve/gateway/upstream_tls.h"

namespace weir::gateway {

// A connection on its way. cancel() ends it; then its owner hears nothing more.
class ConnectAttempt final
    : public boost::intrusive_ref_counter<ConnectAttempt, boost::thread_unsafe_counter>,
      private net::Opening::Owner {
 public:
  class Owner {
   public:
    virtual void on_connected(net::ConnectionPtr connection) = 0;
    // `resolved`: the name was, and no address answered.
    virtual void on_connect_failed(const std::string& why, bool resolved) = 0;

   protected:
    ~Owner() = default;
  };

  // `tls` null: none is spoken.
  ConnectAttempt(net::Loop& loop, Owner& owner, std::size_t max_input,
                 const policy::Upstream& target, std::shared_ptr<const net::TlsClient> tls)
      : loop_(loop),
        owner_(&owner),
        max_input_(max_input),
        target_(target.address),
        tls_(std::move(tls)),
        socket_(loop.executor()) {}

  void cancel();

 private:
  friend class Upstream;
  void start(const Result<std::vector<net::Endpoint>>& addresses, std::size_t first);
  void start_unix();
  void try_next(net::SystemError last);
  void connected(net::Transport transport);
  void on_open(net::Transport transport, const std::optional<IpAddress>& source) override;
  void on_open_failed(net::Opening::Stage stage, const std::string& why) override;
  void fail(const std::string& why, bool resolved);

  net::Loop& loop_;
  Owner* owner_;
  const std::size_t max_input_;
  const policy::Address target_;
  const std::shared_ptr<const net::TlsClient> tls_;
  std::vector<net::Endpoint> endpoints_;
  std::size_t next_ = 0;
  std::size_t tried_ = 0;
  net::TcpSocket socket_;
  net::OpeningPtr opening_;
};

using ConnectAttemptPtr = boost::intrusive_ptr<ConnectAttempt>;

// WHY counted: a request in flight still needs its upstream when a reload has taken it out.
class Upstream : public boost::intrusive_ref_counter<Upstream, boost::thread_unsafe_counter> {
 public:
  static constexpr std::size_t kMaxIdle = 256;
  static constexpr Duration kIdleTime = std::chrono::seconds(60);

  Upstream(net::Loop& loop, policy::Upstream target, const UpstreamTls& tls);
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  const policy::Upstream& target() const { return target_; }
  const std::string& name() const { return name_; }  // host:port, or unix:///path

  // An idle connection, or null. `certain`: one of which the kernel says, just now, that it is open
  // and silent.
  net::ConnectionPtr take_idle(bool certain);
  // Takes back a connection whose last response has ended. Nobody else may own it.
  void give_back(net::ConnectionPtr connection);
  // Never tells the owner before it returns.
  ConnectAttemptPtr connect(ConnectAttempt::Owner& owner, std::size_t max_input);

  std::size_t idle() const { return idle_.size(); }

 private:
  class Idle;
  void drop(Idle& idle);

  net::Loop& loop_;
  const policy::Upstream target_;
  const UpstreamTls& tls_;
  const std::string name_;
  net::HostAddresses addresses_;
  std::size_t next_address_ = 0;
  std::vector<std::unique_ptr<Idle>> idle_;  // the newest last
  std::vector<std::unique_ptr<Idle>> spare_;
};

using UpstreamPtr = boost::intrusive_ptr<Upstream>;

}  // namespace weir::gateway
