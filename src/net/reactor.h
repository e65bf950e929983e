// Reactor: what an event loop waits in. One epoll holds the sockets that the Poller watches, and in
// it, as one descriptor, stands the epoll of Boost.Asio, which has the rest (timers, acceptors,
// resolvers, posts of other threads). A turn of the loop is one system call, however many sockets
// it tells of; Asio's own is asked when it has something to say.
//
// WHY not the other way round, ours inside Asio's: coming through Asio cost three system calls a
// turn (its wait, ours, and one to be told again), which with one request under way is as many as
// the request's own. WHY not Asio's alone: it hides the end of a stream (EPOLLRDHUP) that comes
// with the last bytes, so that each read would need another that finds nothing.
//
// It takes the place of Asio's reactor in a context. THREADS: run() the loop's; interrupt() any.

#pragma once

#include <boost/asio/detail/reactor.hpp>

#include "net/asio.h"

namespace weir::net {

class Poller;

class Reactor final : public asio::detail::epoll_reactor {
 public:
  // Makes one for `context`, which owns it. REQUIRES: nothing has used the context yet; `poller`
  // lives as long as the context runs.
  static void install(asio::io_context& context, Poller& poller);

  Reactor(asio::io_context& context, Poller& poller);

  // Waits at most `usec` microseconds (below 0: without end) for whatever comes first.
  void run(long usec, asio::detail::op_queue<asio::detail::operation>& ops) override;

 private:
  Poller& poller_;
};

}  // namespace weir::net
