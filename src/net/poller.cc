#include "net/poller.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "net/reactor.h"

namespace weir::net {
namespace {

int make_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  WEIR_CHECK(fd >= 0, "a process that starts has a file descriptor left for its loop");
  return fd;
}

// Rounded up, as a wait that ends early would be asked for again at once.
int milliseconds(long usec) {
  if (usec < 0) return -1;
  return static_cast<int>(std::min(usec / 1000 + (usec % 1000 != 0),
                                   static_cast<long>(std::numeric_limits<int>::max())));
}

}  // namespace

Poller::Poller(asio::io_context& context) : context_(context), epoll_(make_epoll()) {
  Reactor::install(context, *this);
}

// Level-triggered: what Asio leaves for another turn is told again.
void Poller::hold(int asio_epoll) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  const int held = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, asio_epoll, &event);
  WEIR_CHECK(held == 0, "one epoll may hold another");
}

bool Poller::watch(int fd, Watched& watched) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watched;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  intrusive_ptr_add_ref(&watched);
  ++watched_;
  return true;
}

void Poller::forget(Watched& watched) {
  --watched_;
  if (dispatching_) {
    forgotten_.emplace_back(&watched, false);  // takes over the reference of watch()
  } else {
    intrusive_ptr_release(&watched);
  }
}

void Poller::release(int fd, Watched& watched) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  forget(watched);
}

void Poller::wake(Watched& watched) {
  woken_.emplace_back(&watched);
  if (dispatching_ || posted_) return;
  posted_ = true;
  asio::post(context_, [this] {
    posted_ = false;
    run_woken();
  });
}

// Waits for sockets, and has what they are ready for told soon. True when Asio has something.
bool Poller::wait(long usec) {
  const int count =
      epoll_wait(epoll_.get(), events_.data(), static_cast<int>(kBatch), milliseconds(usec));
  bool asio_ready = false;
  told_ = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      asio_ready = true;
    } else {
      events_[told_++] = event;
    }
  }
  if (told_ == 0) return asio_ready;
  // WHY a post: run_one() and its like count handlers, not waits. What handlers that come before it
  // forget must stay until then.
  dispatching_ = true;
  asio::post(context_, [this] { dispatch(); });
  return asio_ready;
}

void Poller::dispatch() {
  for (std::size_t i = 0; i < told_; ++i) {
    static_cast<Watched*>(events_[i].data.ptr)->on_ready(events_[i].events);
  }
  dispatching_ = false;
  run_woken();
  forgotten_.clear();
}

// Those that are woken meanwhile come in a later turn, so that one busy peer does not hold the
// loop.
void Poller::run_woken() {
  running_.swap(woken_);
  for (const WatchedPtr& watched : running_) watched->on_ready(0);
  running_.clear();
}

}  // namespace weir::net
