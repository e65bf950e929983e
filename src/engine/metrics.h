// What the engine counts: each limit met, once, by outcome and source; how full its buckets are;
// how long refused calls were told to wait; which keys are refused most (docs/metrics.md).
//
// THREADS: any.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "engine/denied_keys.h"
#include "weir/decision.h"

namespace weir::engine {

enum class LimitOutcome : std::uint8_t { kAllowed, kDenied, kPassed, kShadowDenied };
inline constexpr std::size_t kLimitOutcomes = 4;
inline constexpr std::size_t kSources = 8;

std::string_view to_string(LimitOutcome outcome);

// The bounds of weir_retry_after_seconds and of weir_tokens_ratio.
extern const std::vector<double> kWaitBounds;
extern const std::vector<double> kFullnessBounds;

// The counters of one limit: a row, so that a decision finds all that it moves at once.
class LimitCounters {
 public:
  LimitCounters();

  // `admitted`: whether the request as a whole was. How full the counter is goes into the histogram
  // for one decision in eight of each outcome.
  void count(const Verdict& verdict, Source source, bool shadow, bool admitted) const;

  std::uint64_t decisions(const metrics::Snapshot& snapshot, LimitOutcome outcome,
                          Source source) const;
  metrics::HistogramCounts fullness(const metrics::Snapshot& snapshot) const;
  metrics::HistogramCounts waits(const metrics::Snapshot& snapshot) const;

 private:
  // Where in the row each part begins.
  static constexpr std::uint32_t kFullness = kLimitOutcomes * kSources;
  static constexpr std::uint32_t kFullnessSlots = 9;
  static constexpr std::uint32_t kWaits = kFullness + kFullnessSlots;
  static constexpr std::uint32_t kWaitSlots = 16;

  [[gnu::noinline]] void count_first(const Verdict& verdict, Source source, bool shadow,
                                     bool admitted) const;
  static void count_into(std::atomic<std::uint64_t>* words, const Verdict& verdict, Source source,
                         bool shadow, bool admitted);
  [[gnu::noinline]] static void count_fullness(const Verdict& verdict,
                                               std::atomic<std::uint64_t>* words);
  static void count_wait(Duration wait, std::atomic<std::uint64_t>* words);

  metrics::Row row_;
};

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
