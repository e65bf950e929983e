// What the engine counts: each limit met, once, by outcome and source; how full its buckets are;
// how long refused calls were told to wait; which keys are refused most (docs/metrics.md).
//
// THREADS: any.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "engine/denied_keys.h"
#include "engine/limit_counters.h"
#include "weir/decision.h"

namespace weir::engine {

// All limits' counters, by name, kept for the life of the process: a limit that goes with a reload
// and comes back goes on counting.
class Metrics {
 public:
  // REQUIRES: the registry outlives whoever counts here.
  static std::shared_ptr<Metrics> make(metrics::Registry& registry);

  // Of this limit, made at first sight; good for the life of this.
  const LimitCounters* of(std::string_view limit);
  // Of this limit, where it has been met with.
  const LimitCounters* find(std::string_view limit) const;

  // REQUIRES: the reason is kBlocked or kBanned.
  void count_blocked(Reason reason) const {
    (reason == Reason::kBlocked ? blocked_ : banned_).add();
  }

  DeniedKeys& denied_keys() { return denied_keys_; }
  const DeniedKeys& denied_keys() const { return denied_keys_; }

 private:
  using Listed = std::vector<std::pair<std::string_view, const LimitCounters*>>;
  Listed list() const;
  void write_decisions(const metrics::Snapshot& snapshot, metrics::TextWriter& out) const;
  void write_histograms(const metrics::Snapshot& snapshot, metrics::TextWriter& out,
                        const std::vector<double>& bounds,
                        metrics::HistogramCounts (LimitCounters::*read)(const metrics::Snapshot&)
                            const) const;
  void write_keys(metrics::TextWriter& out) const;

  mutable std::mutex mutex_;  // of the map, never of what it holds
  std::map<std::string, std::unique_ptr<LimitCounters>, std::less<>> limits_;
  DeniedKeys denied_keys_;
  metrics::Counter blocked_;
  metrics::Counter banned_;
};

}  // namespace weir::engine
