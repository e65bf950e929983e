// Figures: what a person wants to see, worked out of the counters once a second: rates over the
// last five seconds, waits and store latency over the last minute, and the last hour.
//
// Bounded: kHour points, and for each limit of the policy a minute's counts sixty times; kMaxLimits
// of them are followed, in file order.
//
// THREADS: one.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "engine/engine.h"
#include "engine/metrics.h"
#include "weir/time.h"

namespace weir::admin {

inline constexpr std::size_t kMinutes = 60;

struct MinuteCount {
  std::uint64_t allowed = 0;  // `passed` ones too: this limit would have let them in
  std::uint64_t denied = 0;
};

struct LimitFigures {
  std::string name;
  std::string algorithm;
  bool shadow = false;
  double allowed_rate = 0;  // a second
  double denied_rate = 0;   // what a shadow limit would have refused included
  double fullness = -1;     // mean share left after a decision; below 0: none was made lately
  double wait_p50 = 0;      // since the start, seconds
  double wait_p99 = 0;
  std::uint64_t allowed = 0;  // since the start
  std::uint64_t denied = 0;
  std::array<MinuteCount, kMinutes> minutes{};  // oldest first; the last is the running one
};

struct KeyFigures {
  engine::DeniedKey key;
  double rate = 0;           // refusals a second, over the last minute
  std::uint64_t recent = 0;  // refusals in the last minute
};

// A point of the last hour: means over kPointSeconds.
struct Point {
  std::int64_t unix_s = 0;
  float allowed = 0;  // requests a second
  float denied = 0;
  float error = 0;
  std::array<float, engine::kSources> sources{};  // decisions of limits a second
  float wait_p50 = 0;                             // over the last minute, seconds
  float wait_p99 = 0;
  float fullness = -1;
};

struct Overall {
  double allowed_rate = 0;
  double denied_rate = 0;
  double error_rate = 0;
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t error = 0;
  std::array<double, engine::kSources> source_rates{};
  double wait_p50 = 0;
  double wait_p99 = 0;
  double store_p50 = 0;
  double store_p99 = 0;
};

class Figures {
 public:
  static constexpr std::int64_t kPointSeconds = 5;
  static constexpr std::size_t kHour = 720;
  static constexpr std::size_t kMaxLimits = 10'000;

  // REQUIRES: both outlive it; the engine counts into the registry and has a policy.
  Figures(const metrics::Registry& registry, const engine::Engine& engine)
      : registry_(registry), engine_(engine) {}

  // Reads the counters. To be called about once a second.
  void tick(Instant now);

  const Overall& overall() const { return overall_; }
  const std::deque<Point>& hour() const { return hour_; }
  std::int64_t minute() const { return minute_; }  // since the Unix epoch; the running one
  // The busiest first, at most `count` of those in the policy.
  std::vector<LimitFigures> limits(std::size_t count) const;
  // Refused keys, those refused most in the last minute first.
  const std::vector<KeyFigures>& keys() const { return keys_; }

 private:
  static constexpr std::size_t kRateTicks = 5;

  // Counters as they stood at one tick.
  struct Sums {
    std::int64_t at_ns = 0;
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t error = 0;
    std::array<std::uint64_t, engine::kSources> sources{};
    double full_sum = 0;
    std::uint64_t full_count = 0;
  };
  struct LimitSums {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    double full_sum = 0;
    std::uint64_t full_count = 0;
  };
  struct Track {
    std::array<LimitSums, kRateTicks + 1> recent{};  // a ring, by tick
    std::array<MinuteCount, kMinutes> minutes{};     // a ring, by minute
    double fullness = -1;
    std::uint64_t seen = 0;  // the tick
  };

  struct Ranked {
    const policy::Limit* limit;
    const Track* track;
    std::uint64_t busy;
  };

  void read_requests(const metrics::Snapshot& snapshot, Sums& sums) const;
  void read_limits(const metrics::Snapshot& snapshot, Sums& sums);
  LimitSums read_limit(const engine::LimitCounters& counters, const metrics::Snapshot& snapshot,
                       Sums& sums);
  void follow(Track& track, const LimitSums& now);
  void work_out_rates(const Sums& now);
  void work_out_waits(const metrics::Snapshot& snapshot);
  void work_out_keys();
  void add_point(Instant now);
  double span_s() const;
  const LimitSums& newest(const Track& track) const;
  const LimitSums& oldest(const Track& track) const;
  std::vector<Ranked> rank(const policy::Policy& policy) const;
  LimitFigures describe(const Ranked& one) const;

  const metrics::Registry& registry_;
  const engine::Engine& engine_;
  std::uint64_t ticks_ = 0;
  std::int64_t minute_ = 0;
  std::deque<Sums> recent_;  // the last kRateTicks + 1
  std::map<std::string, Track, std::less<>> tracks_;
  metrics::HistogramCounts waits_;                    // of all limits, at this tick
  std::deque<metrics::HistogramCounts> wait_minute_;  // the last minute's, a point apart
  std::deque<metrics::HistogramCounts> store_minute_;
  std::deque<std::map<std::string, std::uint64_t>> key_minute_;
  std::vector<KeyFigures> keys_;
  std::deque<Point> hour_;
  std::int64_t point_ = 0;  // the running one
  Sums at_point_;           // when it began
  metrics::Snapshot snapshot_;
  Overall overall_;
};

}  // namespace weir::admin
