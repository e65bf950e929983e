// Backend: what a limiter's lock protects: the counters of one thing, by one of two ways.
//
// A lone token bucket is a Bucket (bucket_backend.h): it can promise tokens ahead of time. All else
// counts in a memory store of its own (store_backend.h).
//
// THREADS: one at a time, under the limiter's lock.

#pragma once

#include <cstdint>
#include <optional>

#include "weir/decision.h"
#include "weir/time.h"

namespace weir::library {

class Backend {
 public:
  virtual ~Backend() = default;

  // Where an answer was decided: `at` is `now`, or the latest moment seen.
  struct Taken {
    Verdict verdict;
    Instant at;
  };

  virtual Taken take(std::uint64_t cost, Instant now) = 0;
  // How many tokens one call could take.
  virtual std::uint64_t left(Instant now) = 0;
  // What take() would answer as to the outcome and the wait. Takes nothing.
  virtual Verdict look(std::uint64_t cost, Instant now) = 0;
  // Takes now what may only be used after a delay.
  virtual Taken reserve(std::uint64_t cost, Duration most_delay, Instant now) = 0;
  // `charged_at`: of the call that turned out to cost more; nothing for a penalty.
  virtual void take_anyway(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) = 0;
  virtual void set_left(std::uint64_t tokens, Instant now) = 0;
  virtual void reset(Instant now) = 0;
};

}  // namespace weir::library
