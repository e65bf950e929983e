// What the engine counts: each limit met, once, by outcome and source (docs/metrics.md).
//
// THREADS: any.

#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "weir/decision.h"

namespace weir::engine {

// The counters of one limit. A series is made when it first moves: a limit has 32 that may, and
// mostly three that do.
class LimitCounters {
 public:
  LimitCounters(metrics::Registry& registry, std::string_view limit);

  // `admitted`: whether the request as a whole was.
  void count(const Verdict& verdict, Source source, bool shadow, bool admitted);

 private:
  enum Outcome : std::size_t { kAllowed, kDenied, kPassed, kShadowDenied, kOutcomes };
  static constexpr std::size_t kSources = 8;

  metrics::Counter counter(Outcome outcome, Source source);

  metrics::Registry& registry_;
  std::string limit_;
  metrics::Histogram retry_after_;
  // 0: not made yet; else the slot + 1.
  std::array<std::atomic<std::uint32_t>, kOutcomes * kSources> slots_{};
};

}  // namespace weir::engine
