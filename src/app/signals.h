// Signals, as events of one thread: SIGTERM and SIGINT end the program, SIGHUP reloads.
//
// THREADS: block() before any thread is started, so that all of them inherit the mask; wait() from
// the main thread.

#pragma once

namespace weir::app::signals {

enum class Event { kStop, kReload };

// From here on the signals wait for wait(). SIGPIPE is ignored: a closed peer is an error of write.
void block();

// Blocks until a signal comes. A second stop signal while the first is being obeyed ends the
// program at once (the default action is restored).
Event wait();

}  // namespace weir::app::signals
