// UpstreamGroup: the servers of one service, as one loop sees them; and Choice, the one that a
// request goes to.
//
// THREADS: the loop's.

#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "net/loop.h"
#include "serve/gateway/balancer.h"
#include "serve/gateway/server_state.h"
#include "serve/gateway/upstream.h"

namespace weir::gateway {

class Choice;

// WHY counted: a request in flight still needs its group when a reload has replaced it.
class UpstreamGroup
    : public boost::intrusive_ref_counter<UpstreamGroup, boost::thread_unsafe_counter> {
 public:
  struct Server {
    UpstreamPtr connections;
    std::shared_ptr<ServerState> state;  // WHY shared: by all loops
  };

  // REQUIRES: at least one server, and at most policy::UpstreamGroup::kMaxServers.
  UpstreamGroup(net::Loop& loop, std::vector<Server> servers, policy::Balance balance);

  // The server for a new request.
  Choice choose();

  // What requests call it that name no host themselves.
  const std::string& authority() const { return servers_[0].connections->target().authority; }
  const std::vector<Server>& servers() const { return servers_; }

 private:
  friend class Choice;
  std::size_t pick(std::uint64_t tried) {
    if (servers_.size() == 1) return tried == 0 ? 0 : Balancer::kNone;
    return balancer_.pick(tried, loop_.timers().now_ns());
  }

  net::Loop& loop_;
  const std::vector<Server> servers_;
  const bool counts_;  // requests in flight
  Balancer balancer_;
};

using UpstreamGroupPtr = boost::intrusive_ptr<UpstreamGroup>;

// One server of a group, chosen for one request, which counts as in flight for as long as this
// lives.
class Choice {
 public:
  Choice() = default;
  Choice(Choice&& other) noexcept { swap(other); }
  Choice& operator=(Choice&& other) noexcept {
    swap(other);
    other.reset();
    return *this;
  }
  ~Choice() { reset(); }

  // REQUIRES for all below: it is one.
  Upstream& upstream() const { return *server().connections; }
  const std::string& name() const { return upstream().name(); }

  // Goes on to a server that this request has not been to. False: it has been to all, and stays.
  bool next();

  void answered() { server().state->answered(); }
  // The request got no answer, for the server's fault.
  void failed(std::string_view why);

  void reset() {
    if (!group_) return;
    if (group_->counts_) server().state->health().leave();
    group_.reset();
    tried_ = 0;
  }

 private:
  friend class UpstreamGroup;
  Choice(UpstreamGroup& group, std::size_t index) : group_(&group) { take(index); }
  const UpstreamGroup::Server& server() const { return group_->servers_[index_]; }
  void take(std::size_t index) {
    index_ = index;
    tried_ |= std::uint64_t{1} << index;
    if (group_->counts_) server().state->health().enter();
  }
  void swap(Choice& other) noexcept {
    group_.swap(other.group_);
    std::swap(index_, other.index_);
    std::swap(tried_, other.tried_);
  }

  UpstreamGroupPtr group_;
  std::size_t index_ = 0;
  std::uint64_t tried_ = 0;  // one bit for each server
};

inline Choice UpstreamGroup::choose() {
  return Choice(*this, pick(0));
}

}  // namespace weir::gateway
