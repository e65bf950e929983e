#include "engine/metrics.h"

#include <algorithm>
#include <limits>

namespace weir::engine {
namespace {

constexpr std::string_view kOutcomeNames[] = {"allowed", "denied", "passed", "shadow_denied"};

// One decision in eight, the first of them, and spread so that no rhythm of the calls meets the
// same ones always: the multiples of the golden ratio, as Fibonacci hashing has them.
bool is_looked_at(std::uint64_t turn) {
  return (turn * 0x9E3779B97F4A7C15U) >> 61 == 0;
}

constexpr auto kLargestQuota = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

// From a tenth of a second to a day.
const std::vector<double> kWaitBounds = {0.1, 0.25, 0.5, 1,   2.5,  5,     10,
                                         30,  60,   300, 900, 3600, 21600, 86400};
const std::vector<double> kFullnessBounds = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

std::string_view to_string(LimitOutcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

LimitCounters::LimitCounters() : row_(metrics::Row::take(kWaits + kWaitSlots)) {}

void LimitCounters::count(const Verdict& verdict, Source source, bool shadow, bool admitted) const {
  std::atomic<std::uint64_t>* const words = row_.here();
  const bool allowed = verdict.allowed();
  const LimitOutcome outcome = allowed
                                   ? (admitted ? LimitOutcome::kAllowed : LimitOutcome::kPassed)
                                   : (shadow ? LimitOutcome::kShadowDenied : LimitOutcome::kDenied);
  auto& counted =
      words[static_cast<std::size_t>(outcome) * kSources + static_cast<std::size_t>(source)];
  const bool sampled = is_looked_at(counted.load(std::memory_order_relaxed));
  metrics::detail::add_to(counted, 1);
  // A store that failed told no numbers; an unlimited limit has none.
  const bool known = source != Source::kFailOpen && source != Source::kFailClosed;
  if (sampled && known && verdict.quota - 1 < kLargestQuota)
    count_fullness(verdict, words + kFullness);
  const bool has_wait = verdict.outcome == weir::Outcome::kDenied && verdict.retry_known;
  if (has_wait && !shadow) count_wait(verdict.retry_after, words + kWaits);
}

// WHY not Histogram::observe: this is on every decision's way. All bounds are twentieths, so that
// one look tells the place.
void LimitCounters::count_fullness(const Verdict& verdict, std::atomic<std::uint64_t>* words) {
  constexpr std::uint8_t kPlaces[21] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3,
                                        4, 4, 4, 4, 4, 5, 5, 5, 6, 6};
  const double share = static_cast<double>(static_cast<std::int64_t>(verdict.remaining)) /
                       static_cast<double>(static_cast<std::int64_t>(verdict.quota));
  const double twentieths = share * 20;
  const auto whole = static_cast<int>(twentieths);
  const int rounded_up = whole + (twentieths > whole ? 1 : 0);
  metrics::detail::add_to(words[kPlaces[std::min(rounded_up, 20)]], 1);
  metrics::detail::add_to(words[kFullnessSlots - 1],
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(share * 1e9)));
}

void LimitCounters::count_wait(Duration wait, std::atomic<std::uint64_t>* words) {
  const double seconds = static_cast<double>(wait.count()) / 1e9;
  const auto at = std::lower_bound(kWaitBounds.begin(), kWaitBounds.end(), seconds);
  metrics::detail::add_to(words[at - kWaitBounds.begin()], 1);
  metrics::detail::add_to(words[kWaitSlots - 1],
                          static_cast<std::uint64_t>(std::max<std::int64_t>(wait.count(), 0)));
}

std::uint64_t LimitCounters::decisions(const metrics::Snapshot& snapshot, LimitOutcome outcome,
                                       Source source) const {
  if (!row_.counted()) return 0;
  const auto place =
      static_cast<std::size_t>(outcome) * kSources + static_cast<std::size_t>(source);
  return snapshot[row_.first() + static_cast<std::uint32_t>(place)];
}

metrics::HistogramCounts LimitCounters::fullness(const metrics::Snapshot& snapshot) const {
  if (!row_.counted()) return {};
  return metrics::read_histogram(snapshot, row_.first() + kFullness, kFullnessBounds);
}

metrics::HistogramCounts LimitCounters::waits(const metrics::Snapshot& snapshot) const {
  if (!row_.counted()) return {};
  return metrics::read_histogram(snapshot, row_.first() + kWaits, kWaitBounds);
}

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
