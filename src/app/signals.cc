#include "app/signals.h"

#include <signal.h>

namespace weir::app::signals {
namespace {

sigset_t awaited() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void block() {
  const sigset_t set = awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Event wait() {
  const sigset_t set = awaited();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  if (number == SIGHUP) return Event::kReload;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  return Event::kStop;
}

}  // namespace weir::app::signals
