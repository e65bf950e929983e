// Observer: the thread that looks. It reads the counters once a second (figures.h), sends what it
// saw to those who watch (stream.h), and does what takes too long for an event loop, such as
// writing thousands of metrics: no connection waits for it.
//
// THREADS: run() from a loop's thread; the rest from one.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "serve/http/message.h"

namespace weir::admin {

class Observer {
 public:
  static constexpr std::size_t kMaxTasks = 64;

  // `tick` runs on the thread about once a second of the clock, and before any task.
  Observer(const Clock& clock, std::function<void(Instant now)> tick);
  // Does what is left to do.
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Has `fill` fill the response on the observer's thread, then `done` run on the request's loop.
  // Past kMaxTasks waiting ones the answer is 503. REQUIRES: `response` lives until `done` has run.
  void run(const http::Request& request, http::Response& response, http::Done done,
           std::function<void(http::Response& response)> fill);

 private:
  void work();
  void do_tasks();

  const Clock& clock_;
  const std::function<void(Instant)> tick_;
  Parking parking_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // by mutex_
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir::admin
