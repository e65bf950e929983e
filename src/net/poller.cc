#include "net/poller.h"

#include <sys/epoll.h>

#include <array>

#include "base/check.h"

namespace weir::net {
namespace {

constexpr int kBatch = 256;

int make_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  WEIR_CHECK(fd >= 0, "a process that starts has a file descriptor left for its loop");
  return fd;
}

}  // namespace

Poller::Poller(asio::io_context& context) : context_(context), epoll_(context, make_epoll()) {
  wait();
}

bool Poller::watch(int fd, Watched& watched) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watched;
  if (epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  intrusive_ptr_add_ref(&watched);
  return true;
}

void Poller::forget(Watched& watched) {
  if (dispatching_) {
    forgotten_.emplace_back(&watched, false);  // takes over the reference of watch()
  } else {
    intrusive_ptr_release(&watched);
  }
}

void Poller::release(int fd, Watched& watched) {
  epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
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

void Poller::wait() {
  epoll_.async_wait(asio::posix::descriptor_base::wait_read, [this](const SystemError& error) {
    if (!error) dispatch();
  });
}

// WHY several turns: coming back through the loop costs two more system calls. While there is much
// to do they are spared, but for few events: newcomers and timers wait for them.
void Poller::dispatch() {
  constexpr int kMuch = 4;
  constexpr int kMaxTold = 64;  // after that many no further turn
  std::array<epoll_event, kBatch> events;
  int told = 0;
  int count;
  do {
    count = epoll_wait(epoll_.native_handle(), events.data(), kBatch, 0);
    dispatching_ = true;
    for (int i = 0; i < count; ++i) {
      static_cast<Watched*>(events[static_cast<std::size_t>(i)].data.ptr)
          ->on_ready(events[static_cast<std::size_t>(i)].events);
    }
    dispatching_ = false;
    run_woken();
    told += count;
  } while (count >= kMuch && told < kMaxTold);
  wait();
}

// Those that are woken meanwhile come in a later turn, so that one busy peer does not hold the
// loop.
void Poller::run_woken() {
  running_.swap(woken_);
  for (const WatchedPtr& watched : running_) watched->on_ready(0);
  running_.clear();
  forgotten_.clear();
}

}  // namespace weir::net
