// DecisionTimer: weir_decision_seconds of one listener: how long decisions take, from the question
// to the answer. One in kEvery of a thread's is timed, so that the others read no clock.
//
// THREADS: any.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"

namespace weir::engine {

class DecisionTimer {
 public:
  static constexpr std::uint32_t kEvery = 64;
  static constexpr std::int64_t kNotTimed = std::numeric_limits<std::int64_t>::min();

  // REQUIRES: the clock outlives it.
  DecisionTimer(metrics::Registry& registry, std::string_view listener, const Clock& clock)
      : clock_(clock),
        seconds_(registry.histogram("weir_decision_seconds",
                                    "How long decisions took, of one in 64.", bounds(),
                                    {{"listener", std::string(listener)}})) {}

  // When a decision that is timed began, for end(); else kNotTimed.
  std::int64_t begin() const {
    thread_local std::uint32_t asked = 0;
    return asked++ % kEvery == 0 ? clock_.steady_ns() : kNotTimed;
  }
  void end(std::int64_t began) const {
    if (began != kNotTimed) seconds_.observe(Duration(clock_.steady_ns() - began));
  }

 private:
  static const std::vector<double>& bounds() {
    static const std::vector<double> seconds{0.000001, 0.0000025, 0.000005, 0.00001, 0.000025,
                                             0.00005,  0.0001,    0.00025,  0.0005,  0.001,
                                             0.0025,   0.01,      0.025,    0.1};
    return seconds;
  }

  const Clock& clock_;
  const metrics::Histogram seconds_;
};

}  // namespace weir::engine
