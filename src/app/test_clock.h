// Test builds only (WEIR_TEST_HOOKS): a clock that stands still until a test moves it through a
// Unix socket, so that a test can ask the shipped program what it would answer at any moment.
//
// One command a line: a number of nanoseconds since the Unix epoch, which both clocks then show, or
// two numbers, the steady clock's and the wall clock's. Answered by "ok" once in force, or by
// "error: ..." .
//
// THREADS: one thread of its own; the clock may be read from any.

#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "weir/result.h"

namespace weir::app {

class TestClock {
 public:
  // ERRORS: kIo when the socket cannot be made.
  static Result<std::unique_ptr<TestClock>> listen(const std::string& socket_path);
  ~TestClock();

  const Clock& clock() const { return clock_; }

 private:
  TestClock(std::string path, int listener);
  void serve();
  bool serve_one(int connection);
  std::string obey(const std::string& line);

  std::string path_;
  int listener_;
  int stop_pipe_[2] = {-1, -1};
  ManualClock clock_;
  std::thread thread_;
};

}  // namespace weir::app
