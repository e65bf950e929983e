#include "net/reactor.h"

#include <memory>
#include <type_traits>

#include "net/poller.h"

namespace weir::net {
namespace {

using asio::detail::epoll_reactor;

static_assert(std::is_same_v<asio::detail::reactor, epoll_reactor>);

// WHY this way: Asio shows its epoll to nobody, and an explicit instantiation alone may name what
// is private. Should another Boost name it otherwise, this does not compile.
int epoll_of(const epoll_reactor& reactor);

template <int epoll_reactor::*kMember>
struct Shown {
  friend int epoll_of(const epoll_reactor& reactor) { return reactor.*kMember; }
};

template struct Shown<&epoll_reactor::epoll_fd_>;

}  // namespace

void Reactor::install(asio::io_context& context, Poller& poller) {
  auto made = std::make_unique<Reactor>(context, poller);
  asio::add_service<epoll_reactor>(context, made.get());
  made.release()->init_task();
}

Reactor::Reactor(asio::io_context& context, Poller& poller)
    : epoll_reactor(context), poller_(poller) {
  poller_.hold(epoll_of(*this));
}

void Reactor::run(long usec, asio::detail::op_queue<asio::detail::operation>& ops) {
  // Nobody is watched, as in a program that only asks Redis: Asio's own wait is enough.
  if (!poller_.watches_any()) return epoll_reactor::run(usec, ops);
  if (poller_.wait(usec)) epoll_reactor::run(0, ops);
}

}  // namespace weir::net
