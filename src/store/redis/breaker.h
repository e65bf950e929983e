// Breaker: whether a node is asked at all. Opens after five failures in a row; closes with the
// first sign of life, which the node's own probes bring, so that no request pays for finding out.
// And Backoff: how long to wait before the next attempt to connect.
//
// THREADS: one loop.

#pragma once

#include <algorithm>
#include <cstdint>

#include "weir/time.h"

namespace weir::store::redis {

class Breaker {
 public:
  static constexpr int kFailures = 5;

  bool open() const { return failures_ >= kFailures; }

  // True when this changed open().
  bool failed() {
    if (open()) return false;
    return ++failures_ == kFailures;
  }
  bool succeeded() {
    const bool was_open = open();
    failures_ = 0;
    return was_open;
  }

 private:
  int failures_ = 0;
};

// Doubles from attempt to attempt up to half a second, so that a server that is back is noticed
// within it; a quarter of it is chance, so that a fleet does not come all at once.
class Backoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds(20);
  static constexpr Duration kLongest = std::chrono::milliseconds(500);

  explicit Backoff(std::uint64_t seed) : random_(seed | 1) {}

  Duration next() {
    const Duration wait = std::min(kFirst * (1 << std::min(attempts_++, 10)), kLongest);
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return wait - wait / 4 * static_cast<std::int64_t>(random_ % 1024) / 1024;
  }
  void reset() { attempts_ = 0; }

 private:
  std::uint64_t random_;
  int attempts_ = 0;
};

}  // namespace weir::store::redis
