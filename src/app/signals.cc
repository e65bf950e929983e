#include "app/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace weir::app::signals {
namespace {

sigset_t stopping() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

sigset_t awaited() {
  sigset_t set = stopping();
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

void block() {
  const sigset_t set = awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

void stop() {
  kill(getpid(), SIGTERM);
}

Watch::Watch(net::Loop& loop, std::function<void(Event)> tell)
    : tell_(std::move(tell)), descriptor_(loop.executor()) {
  const sigset_t set = awaited();
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  WEIR_CHECK(fd >= 0, "a program that has just started has a file descriptor left");
  descriptor_.assign(fd);
  wait();
}

void Watch::wait() {
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                         [this](const net::SystemError& error) {
                           if (error) return;
                           take();
                           wait();
                         });
}

void Watch::take() {
  signalfd_siginfo came{};
  while (::read(descriptor_.native_handle(), &came, sizeof came) == sizeof came) {
    if (came.ssi_signo == SIGHUP || came.ssi_signo == SIGUSR1) {
      tell_(came.ssi_signo == SIGHUP ? Event::kReload : Event::kReopenLogs);
      continue;
    }
    const sigset_t set = stopping();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    return tell_(Event::kStop);
  }
}

}  // namespace weir::app::signals
