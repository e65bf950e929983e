// Session and SessionSet: the connections of one listener on one loop.
//
// A session counts itself in when it starts and out when it ends; the set is how a listener that
// closes reaches them. THREADS: the loop's; size() from any.

#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <functional>

namespace weir::net {

class Session : public boost::intrusive::list_base_hook<> {
 public:
  virtual ~Session() = default;

  // The listener closes: finish what is in flight and end; end at once where nothing is. May take
  // the session out of its set before it returns, but must not destroy it.
  virtual void drain() = 0;
  // Time is up: end now. The same rule.
  virtual void abort() = 0;
};

class SessionSet {
 public:
  SessionSet() = default;
  SessionSet(const SessionSet&) = delete;
  SessionSet& operator=(const SessionSet&) = delete;

  void add(Session& session) {
    sessions_.push_back(session);
    size_.store(sessions_.size(), std::memory_order_relaxed);
  }

  void remove(Session& session) {
    sessions_.erase(sessions_.iterator_to(session));
    size_.store(sessions_.size(), std::memory_order_relaxed);
    if (on_remove_) on_remove_();
  }

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  // True once the listener closes: sessions end after the request they are at.
  bool draining() const { return draining_; }

  void drain_all() {
    draining_ = true;
    for_each(&Session::drain);
  }
  // The session that was added last. REQUIRES: there is one.
  void drain_newest() { sessions_.back().drain(); }
  void abort_all() { for_each(&Session::abort); }
  void on_remove(std::function<void()> function) { on_remove_ = std::move(function); }

 private:
  void for_each(void (Session::*action)()) {
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      Session& session = *it++;  // the action may take this one out, and no other
      (session.*action)();
    }
  }

  boost::intrusive::list<Session> sessions_;
  std::atomic<std::size_t> size_{0};  // relaxed: a figure for metrics, ordered by nothing
  bool draining_ = false;
  std::function<void()> on_remove_;
};

}  // namespace weir::net
