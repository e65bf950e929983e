// Poller: tells many sockets what they are ready for, by an edge-triggered epoll (net/reactor.h).
//
// WHY beside Asio's: its reactor tries a read before it waits for one, so that each request costs a
// system call on either side that says "nothing yet", and an operation allocated and queued. A
// socket here is registered once; a read that fills less than its room has taken everything.
//
// THREADS: the loop's.

#pragma once

#include <sys/epoll.h>

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/file_descriptor.h"
#include "net/asio.h"

namespace weir::net {

class Poller {
 public:
  // What is watched. Counted, since an event may be on its way to one that has just let go.
  class Watched : public boost::intrusive_ref_counter<Watched, boost::thread_unsafe_counter> {
   public:
    virtual ~Watched() = default;

   private:
    friend class Poller;
    // `events` of epoll; 0 when called by wake().
    virtual void on_ready(std::uint32_t events) = 0;
  };
  using WatchedPtr = boost::intrusive_ptr<Watched>;

  // REQUIRES: nothing has used the context yet.
  explicit Poller(asio::io_context& context);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Watches `fd` until forget(), and keeps the watched alive so long. False when the kernel says
  // no.
  bool watch(int fd, Watched& watched);
  // REQUIRES: called once for each watch(), as its descriptor is closed.
  void forget(Watched& watched);
  // Watches no longer, though the descriptor stays open: what it is ready for will be told anew to
  // whoever watches it next.
  void release(int fd, Watched& watched);
  // Calls on_ready(0) soon, and not before this returns.
  void wake(Watched& watched);

 private:
  friend class Reactor;
  static constexpr std::size_t kBatch = 256;

  void hold(int asio_epoll);
  bool watches_any() const { return watched_ != 0; }
  bool wait(long usec);
  void dispatch();
  void run_woken();

  asio::io_context& context_;
  const FileDescriptor epoll_;
  std::size_t watched_ = 0;
  std::array<epoll_event, kBatch> events_;  // at hand; the first told_
  std::size_t told_ = 0;
  bool dispatching_ = false;  // events are at hand
  bool posted_ = false;
  std::vector<WatchedPtr> woken_;
  std::vector<WatchedPtr> running_;
  std::vector<WatchedPtr> forgotten_;  // until the events at hand are through
};

}  // namespace weir::net
