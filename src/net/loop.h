// Loop and Loops: one event loop a thread, one thread for each CPU that we may run on.
//
// What lives on a loop is touched by its thread alone; other threads reach it by post(). Nothing
// that runs on a loop may block or throw.
//
// THREADS: post() from any; the rest as said.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "net/asio.h"
#include "net/poller.h"
#include "net/timer_wheel.h"

namespace weir::net {

class Loop {
 public:
  explicit Loop(unsigned index);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The loop that this thread runs; null on any other thread.
  static Loop* current();

  unsigned index() const { return index_; }
  asio::io_context& context() { return context_; }
  Executor executor() { return context_.get_executor(); }
  TimerWheel& timers() { return timers_; }
  Poller& poller() { return poller_; }

  template <typename Function>
  void post(Function&& function) {
    asio::post(context_, std::forward<Function>(function));
  }

  // Runs until stop(); the caller's thread becomes the loop's.
  void run();
  void stop() { context_.stop(); }
  // Runs what is ready and comes back. REQUIRES: no thread is in run().
  void run_ready();
  // Runs until `done` says so. REQUIRES: as run_ready().
  void run_until(const std::function<bool()>& done);

 private:
  struct Context : asio::io_context {
    using io_context::io_context;
    using io_context::shutdown;
  };

  const unsigned index_;
  TimerWheel timers_;  // outlives what the context still holds when it is destroyed
  Context context_;
  Poller poller_;
};

class Loops {
 public:
  explicit Loops(std::size_t count);
  ~Loops();
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  std::size_t size() const { return loops_.size(); }
  Loop& at(std::size_t index) { return *loops_[index]; }

  void start();  // one thread a loop
  void stop();   // and waits for the threads; what was started may be destroyed afterwards
  bool running() const { return !threads_.empty(); }

 private:
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
};

// How many CPUs this process may run on, at least 1.
std::size_t usable_cpus();

// Raises the soft limit of open files to the hard one; returns what it is now.
std::size_t raise_file_limit();

}  // namespace weir::net
