#include "serve/admin/figures.h"

#include <algorithm>

#include "base/seconds.h"
#include "engine/compiled_policy.h"
#include "policy/format.h"

namespace weir::admin {
namespace {

constexpr std::size_t kPointsAMinute = 60 / Figures::kPointSeconds;

double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
  return now <= before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

metrics::HistogramCounts since(const metrics::HistogramCounts& before,
                               const metrics::HistogramCounts& now) {
  if (before.counts.empty()) return now;
  metrics::HistogramCounts delta = now;
  for (std::size_t i = 0; i < delta.counts.size(); ++i) delta.counts[i] -= before.counts[i];
  delta.total -= before.total;
  delta.sum -= before.sum;
  return delta;
}

std::string_view label(const metrics::Labels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name) return value;
  }
  return {};
}

std::string name_of(const engine::DeniedKey& key) {
  return key.limit + ' ' + key.shown;
}

}  // namespace

void Figures::tick(Instant now) {
  snapshot_ = metrics::Snapshot();
  ++ticks_;
  const std::int64_t unix_s = now.wall_ns / kNsPerSecond;
  if (minute_ != unix_s / 60) {
    // The ring's place of a minute that begins, and of those in which nobody looked, starts empty.
    const std::int64_t skipped = std::clamp<std::int64_t>(unix_s / 60 - minute_, 1, kMinutes);
    minute_ = unix_s / 60;
    for (auto& [name, track] : tracks_) {
      for (std::int64_t i = 0; i < skipped; ++i) track.minutes[(minute_ - i) % kMinutes] = {};
    }
  }
  Sums sums;
  sums.at_ns = now.steady_ns;
  read_requests(snapshot_, sums);
  read_limits(snapshot_, sums);
  recent_.push_back(sums);
  if (recent_.size() > kRateTicks + 1) recent_.pop_front();
  work_out_rates(sums);
  if (point_ != unix_s / kPointSeconds) {
    work_out_waits(snapshot_);
    work_out_keys();
    if (point_ != 0) add_point(now);
    point_ = unix_s / kPointSeconds;
    at_point_ = sums;
  }
}

void Figures::read_requests(const metrics::Snapshot& snapshot, Sums& sums) const {
  for (const auto& [labels, value] : registry_.counters("weir_requests_total", snapshot)) {
    const std::string_view outcome = label(labels, "outcome");
    if (outcome == "allowed") sums.allowed += value;
    if (outcome == "denied") sums.denied += value;
    if (outcome == "error") sums.error += value;
  }
}

void Figures::read_limits(const metrics::Snapshot& snapshot, Sums& sums) {
  waits_ = {};
  const auto policy = engine_.current();
  for (const policy::Limit& limit : policy->policy().limits) {
    const engine::LimitCounters* counters = engine_.metrics()->find(limit.name);
    if (counters == nullptr) continue;
    const LimitSums now = read_limit(*counters, snapshot, sums);
    const auto found = tracks_.find(limit.name);
    if (found != tracks_.end()) {
      follow(found->second, now);
    } else if (tracks_.size() < kMaxLimits) {
      Track& track = tracks_[limit.name];
      track.recent.fill(now);
      track.seen = ticks_;
    }
  }
  // What has left the policy is followed no longer.
  std::erase_if(tracks_, [this](const auto& track) { return track.second.seen != ticks_; });
}

Figures::LimitSums Figures::read_limit(const engine::LimitCounters& counters,
                                       const metrics::Snapshot& snapshot, Sums& sums) {
  using engine::LimitOutcome;
  LimitSums read;
  for (std::size_t i = 0; i < engine::kSources; ++i) {
    const auto source = static_cast<Source>(i);
    const auto of = [&](LimitOutcome outcome) {
      return counters.decisions(snapshot, outcome, source);
    };
    const std::uint64_t allowed = of(LimitOutcome::kAllowed) + of(LimitOutcome::kPassed);
    const std::uint64_t denied = of(LimitOutcome::kDenied) + of(LimitOutcome::kShadowDenied);
    read.allowed += allowed;
    read.denied += denied;
    sums.sources[i] += allowed + denied;
  }
  if (read.allowed + read.denied == 0) return read;
  const metrics::HistogramCounts fullness = counters.fullness(snapshot);
  read.full_sum = fullness.sum;
  read.full_count = fullness.total;
  sums.full_sum += fullness.sum;
  sums.full_count += fullness.total;
  if (read.denied > 0) waits_.add(counters.waits(snapshot));
  return read;
}

void Figures::follow(Track& track, const LimitSums& now) {
  const LimitSums& before = track.recent[(ticks_ - 1) % track.recent.size()];
  MinuteCount& minute = track.minutes[minute_ % kMinutes];
  minute.allowed += now.allowed - before.allowed;
  minute.denied += now.denied - before.denied;
  const LimitSums& oldest = track.recent[ticks_ % track.recent.size()];
  if (now.full_count > oldest.full_count) {
    track.fullness =
        (now.full_sum - oldest.full_sum) / static_cast<double>(now.full_count - oldest.full_count);
  }
  track.recent[ticks_ % track.recent.size()] = now;
  track.seen = ticks_;
}

double Figures::span_s() const {
  if (recent_.size() < 2) return 0;
  return static_cast<double>(recent_.back().at_ns - recent_.front().at_ns) / kNsPerSecond;
}

const Figures::LimitSums& Figures::newest(const Track& track) const {
  return track.recent[ticks_ % track.recent.size()];
}

// As many ticks back as rates are worked out over.
const Figures::LimitSums& Figures::oldest(const Track& track) const {
  const std::size_t kept = std::min<std::size_t>(recent_.size(), track.recent.size());
  return track.recent[(ticks_ + track.recent.size() - (kept - 1)) % track.recent.size()];
}

void Figures::work_out_rates(const Sums& now) {
  const Sums& before = recent_.front();
  const double seconds = span_s();
  overall_.allowed = now.allowed;
  overall_.denied = now.denied;
  overall_.error = now.error;
  overall_.allowed_rate = per_second(before.allowed, now.allowed, seconds);
  overall_.denied_rate = per_second(before.denied, now.denied, seconds);
  overall_.error_rate = per_second(before.error, now.error, seconds);
  for (std::size_t i = 0; i < engine::kSources; ++i) {
    overall_.source_rates[i] = per_second(before.sources[i], now.sources[i], seconds);
  }
}

// Of the last minute: what has been counted since the point a minute ago.
void Figures::work_out_waits(const metrics::Snapshot& snapshot) {
  const auto next = [](std::deque<metrics::HistogramCounts>& minute,
                       const metrics::HistogramCounts& now) {
    if (minute.empty()) minute.emplace_back();
    minute.push_back(now);
    if (minute.size() > kPointsAMinute + 1) minute.pop_front();
    return since(minute.front(), now);
  };
  const auto waits = next(wait_minute_, waits_);
  overall_.wait_p50 = waits.quantile(0.5, engine::kWaitBounds);
  overall_.wait_p99 = waits.quantile(0.99, engine::kWaitBounds);
  const auto [bounds, counted] = registry_.histogram_sum("weir_store_seconds", snapshot);
  if (bounds == nullptr) return;
  const auto store = next(store_minute_, counted);
  overall_.store_p50 = store.quantile(0.5, *bounds);
  overall_.store_p99 = store.quantile(0.99, *bounds);
}

void Figures::work_out_keys() {
  std::map<std::string, std::uint64_t> counts;
  keys_.clear();
  const bool first = key_minute_.empty();
  for (engine::DeniedKey& key : engine_.metrics()->denied_keys().top()) {
    const std::string name = name_of(key);
    counts[name] = key.count;
    KeyFigures& figures = keys_.emplace_back();
    if (!first) {
      const auto before = key_minute_.front().find(name);
      // One that was not among the most refused a minute ago had at most its error by then.
      const std::uint64_t then = before == key_minute_.front().end() ? key.error : before->second;
      figures.recent = key.count > then ? key.count - then : 0;
    } else {
      figures.recent = key.count;
    }
    const auto points = std::max<std::size_t>(key_minute_.size(), 1);
    figures.rate = static_cast<double>(figures.recent) /
                   static_cast<double>(points * static_cast<std::size_t>(kPointSeconds));
    figures.key = std::move(key);
  }
  std::stable_sort(keys_.begin(), keys_.end(),
                   [](const KeyFigures& a, const KeyFigures& b) { return a.recent > b.recent; });
  key_minute_.push_back(std::move(counts));
  if (key_minute_.size() > kPointsAMinute) key_minute_.pop_front();
}

void Figures::add_point(Instant now) {
  const Sums& end = recent_.back();
  const double seconds = static_cast<double>(end.at_ns - at_point_.at_ns) / kNsPerSecond;
  Point point;
  point.unix_s = now.wall_ns / kNsPerSecond;
  point.allowed = static_cast<float>(per_second(at_point_.allowed, end.allowed, seconds));
  point.denied = static_cast<float>(per_second(at_point_.denied, end.denied, seconds));
  point.error = static_cast<float>(per_second(at_point_.error, end.error, seconds));
  for (std::size_t i = 0; i < engine::kSources; ++i) {
    point.sources[i] =
        static_cast<float>(per_second(at_point_.sources[i], end.sources[i], seconds));
  }
  point.wait_p50 = static_cast<float>(overall_.wait_p50);
  point.wait_p99 = static_cast<float>(overall_.wait_p99);
  if (end.full_count > at_point_.full_count) {
    point.fullness = static_cast<float>((end.full_sum - at_point_.full_sum) /
                                        static_cast<double>(end.full_count - at_point_.full_count));
  }
  hour_.push_back(point);
  if (hour_.size() > kHour) hour_.pop_front();
}

// The limits that are followed, the busiest of the last seconds first.
std::vector<Figures::Ranked> Figures::rank(const policy::Policy& policy) const {
  std::vector<Ranked> ranked;
  for (const policy::Limit& limit : policy.limits) {
    const auto found = tracks_.find(limit.name);
    if (found == tracks_.end()) continue;
    const LimitSums& now = newest(found->second);
    const LimitSums& before = oldest(found->second);
    const std::uint64_t busy = now.allowed + now.denied - before.allowed - before.denied;
    ranked.push_back({&limit, &found->second, busy});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.busy > b.busy; });
  return ranked;
}

LimitFigures Figures::describe(const Ranked& one) const {
  const LimitSums& now = newest(*one.track);
  const LimitSums& before = oldest(*one.track);
  LimitFigures figures;
  figures.name = one.limit->name;
  if (!one.limit->numbers.empty()) {
    figures.algorithm = policy::algorithm_name(algorithm_of(one.limit->numbers.front()));
  }
  figures.shadow = one.limit->mode == policy::Mode::kShadow;
  figures.allowed = now.allowed;
  figures.denied = now.denied;
  figures.allowed_rate = per_second(before.allowed, now.allowed, span_s());
  figures.denied_rate = per_second(before.denied, now.denied, span_s());
  figures.fullness = one.track->fullness;
  if (now.denied > 0) {
    const auto waits = engine_.metrics()->find(figures.name)->waits(snapshot_);
    figures.wait_p50 = waits.quantile(0.5, engine::kWaitBounds);
    figures.wait_p99 = waits.quantile(0.99, engine::kWaitBounds);
  }
  for (std::size_t i = 0; i < kMinutes; ++i) {
    figures.minutes[i] = one.track->minutes[(static_cast<std::size_t>(minute_) + 1 + i) % kMinutes];
  }
  return figures;
}

std::vector<LimitFigures> Figures::limits(std::size_t count) const {
  const auto policy = engine_.current();
  std::vector<LimitFigures> out;
  for (const Ranked& one : rank(policy->policy())) {
    if (out.size() == count) break;
    out.push_back(describe(one));
  }
  return out;
}

}  // namespace weir::admin
