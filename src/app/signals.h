// Signals, as events of one loop: SIGTERM and SIGINT end the program, SIGHUP reloads, SIGUSR1 opens
// logs again.
//
// THREADS: block() before any thread is started, so that all of them inherit the mask; a Watch is
// its loop's.

#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>

#include "net/loop.h"

namespace weir::app::signals {

enum class Event { kStop, kReload, kReopenLogs };

// From here on the signals wait for a Watch. SIGPIPE and SIGXFSZ are ignored: a closed peer, and a
// file that may not grow any further, are errors of write.
void block();

// As SIGTERM does; from any thread.
void stop();

// Tells each signal that comes. A second stop signal while the first is being obeyed ends the
// program at once (the default action is restored).
class Watch {
 public:
  // REQUIRES: block(). Lives as long as the loop runs.
  Watch(net::Loop& loop, std::function<void(Event)> tell);

 private:
  void wait();
  void take();

  std::function<void(Event)> tell_;
  boost::asio::posix::basic_stream_descriptor<net::Executor> descriptor_;
};

}  // namespace weir::app::signals
