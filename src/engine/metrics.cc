#include "engine/metrics.h"

namespace weir::engine {

std::shared_ptr<Metrics> Metrics::make(metrics::Registry& registry) {
  // WHY shared: the registry's families write from it, and may outlive the engine.
  auto made = std::make_shared<Metrics>();
  using metrics::Snapshot;
  using metrics::TextWriter;
  registry.family_from("weir_decisions_total", "Each limit that a request met, once, by outcome.",
                       metrics::Type::kCounter, [made](const Snapshot& s, TextWriter& out) {
                         made->write_decisions(s, out);
                       });
  registry.family_from("weir_retry_after_seconds", "How long refused calls were told to wait.",
                       metrics::Type::kHistogram, [made](const Snapshot& s, TextWriter& out) {
                         made->write_histograms(s, out, kWaitBounds, &LimitCounters::waits);
                       });
  registry.family_from("weir_tokens_ratio",
                       "The share of its quota that a counter had left after a decision.",
                       metrics::Type::kHistogram, [made](const Snapshot& s, TextWriter& out) {
                         made->write_histograms(s, out, kFullnessBounds, &LimitCounters::fullness);
                       });
  registry.family_from("weir_key_denied_total", "Refusals of the keys that are refused most.",
                       metrics::Type::kCounter,
                       [made](const Snapshot&, TextWriter& out) { made->write_keys(out); });
  registry.family_from("weir_key_denied_error",
                       "How much weir_key_denied_total may be too high, at most.",
                       metrics::Type::kGauge, [made](const Snapshot&, TextWriter& out) {
                         if (made->denied_keys().any())
                           out.gauge({}, double(made->denied_keys().error()));
                       });
  constexpr const char* kBlocked = "Requests that were refused before any limit was asked.";
  made->blocked_ = registry.counter("weir_blocked_total", kBlocked, {{"reason", "blocked"}});
  made->banned_ = registry.counter("weir_blocked_total", kBlocked, {{"reason", "banned"}});
  return made;
}

const LimitCounters* Metrics::of(std::string_view limit) {
  std::lock_guard lock(mutex_);
  auto found = limits_.find(limit);
  if (found == limits_.end()) {
    found = limits_.emplace(std::string(limit), std::make_unique<LimitCounters>()).first;
  }
  return found->second.get();
}

const LimitCounters* Metrics::find(std::string_view limit) const {
  std::lock_guard lock(mutex_);
  const auto found = limits_.find(limit);
  return found == limits_.end() ? nullptr : found->second.get();
}

Metrics::Listed Metrics::list() const {
  Listed listed;
  std::lock_guard lock(mutex_);
  for (const auto& [name, counters] : limits_) listed.emplace_back(name, counters.get());
  return listed;
}

void Metrics::write_decisions(const metrics::Snapshot& snapshot, metrics::TextWriter& out) const {
  for (const auto& [name, counters] : list()) {
    for (std::size_t place = 0; place < kLimitOutcomes * kSources; ++place) {
      const auto outcome = static_cast<LimitOutcome>(place / kSources);
      const auto source = static_cast<Source>(place % kSources);
      const std::uint64_t value = counters->decisions(snapshot, outcome, source);
      if (value == 0) continue;
      out.counter({{"limit", std::string(name)},
                   {"outcome", std::string(to_string(outcome))},
                   {"source", std::string(weir::to_string(source))}},
                  value);
    }
  }
}

void Metrics::write_histograms(
    const metrics::Snapshot& snapshot, metrics::TextWriter& out, const std::vector<double>& bounds,
    metrics::HistogramCounts (LimitCounters::*read)(const metrics::Snapshot&) const) const {
  for (const auto& [name, counters] : list()) {
    const metrics::HistogramCounts counts = (counters->*read)(snapshot);
    if (counts.total > 0) out.histogram({{"limit", std::string(name)}}, bounds, counts);
  }
}

void Metrics::write_keys(metrics::TextWriter& out) const {
  for (const DeniedKey& key : denied_keys_.top()) {
    out.counter({{"limit", key.limit}, {"key", key.shown}}, key.count);
  }
}

}  // namespace weir::engine
