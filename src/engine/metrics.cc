#include "engine/metrics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

namespace weir::engine {
namespace {

constexpr std::string_view kOutcomeNames[] = {"allowed", "denied", "passed", "shadow_denied"};

// One decision in eight, the first of them, and spread so that no rhythm of the calls meets the
// same ones always: the multiples of the golden ratio, as Fibonacci hashing has them.
bool is_looked_at(std::uint64_t turn) {
  return (turn * 0x9E3779B97F4A7C15U) >> 61 == 0;
}

constexpr auto kLargestQuota = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// From a tenth of a second to a day.
constexpr std::int64_t kMs = 1'000'000;
constexpr std::array<std::int64_t, 14> kWaitBoundsNs = {
    100 * kMs,     250 * kMs,       500 * kMs,        1'000 * kMs,     2'500 * kMs,
    5'000 * kMs,   10'000 * kMs,    30'000 * kMs,     60'000 * kMs,    300'000 * kMs,
    900'000 * kMs, 3'600'000 * kMs, 21'600'000 * kMs, 86'400'000 * kMs};

// Of the waits with so many bits, how many bounds all of them are above. Between a power of two and
// the next there is one bound at most, so that one comparison more tells the place.
constexpr auto kBoundsBelow = [] {
  std::array<std::uint8_t, 65> below{};
  for (std::size_t bits = 1; bits < 64; ++bits) {
    const std::int64_t least = std::int64_t{1} << (bits - 1);
    while (below[bits] < kWaitBoundsNs.size() && kWaitBoundsNs[below[bits]] < least) ++below[bits];
  }
  return below;
}();

constexpr bool bounds_double() {
  for (std::size_t i = 1; i < kWaitBoundsNs.size(); ++i) {
    if (kWaitBoundsNs[i] < 2 * kWaitBoundsNs[i - 1]) return false;
  }
  return true;
}
static_assert(bounds_double());

std::size_t place_of_wait(std::int64_t ns) {
  const std::size_t below = kBoundsBelow[std::bit_width(static_cast<std::uint64_t>(ns))];
  return below + (below < kWaitBoundsNs.size() && ns > kWaitBoundsNs[below] ? 1 : 0);
}

std::vector<double> in_seconds(std::span<const std::int64_t> ns) {
  std::vector<double> seconds;
  for (const std::int64_t bound : ns) seconds.push_back(static_cast<double>(bound) / 1e9);
  return seconds;
}

// This thread's copy of a row; null where it has none yet.
std::atomic<std::uint64_t>* touched(const metrics::Row& row) {
  using metrics::detail::kSlotsPerBlock;
  const auto* const slots = metrics::detail::thread_slots;
  if (slots == nullptr) return nullptr;
  auto* const block = slots->blocks[row.first() / kSlotsPerBlock].load(std::memory_order_relaxed);
  return block == nullptr ? nullptr : block + row.first() % kSlotsPerBlock;
}

}  // namespace

const std::vector<double> kWaitBounds = in_seconds(kWaitBoundsNs);
const std::vector<double> kFullnessBounds = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

std::string_view to_string(LimitOutcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

LimitCounters::LimitCounters() : row_(metrics::Row::take(kWaits + kWaitSlots)) {}

void LimitCounters::count(const Verdict& verdict, Source source, bool shadow, bool admitted) const {
  std::atomic<std::uint64_t>* const words = touched(row_);
  if (words == nullptr) return count_first(verdict, source, shadow, admitted);
  count_into(words, verdict, source, shadow, admitted);
}

// A thread's first. WHY apart: count() is on every decision's way, and where it calls nothing it
// has no registers to save.
void LimitCounters::count_first(const Verdict& verdict, Source source, bool shadow,
                                bool admitted) const {
  count_into(row_.here(), verdict, source, shadow, admitted);
}

inline void LimitCounters::count_into(std::atomic<std::uint64_t>* words, const Verdict& verdict,
                                      Source source, bool shadow, bool admitted) {
  const LimitOutcome outcome = verdict.allowed()
                                   ? (admitted ? LimitOutcome::kAllowed : LimitOutcome::kPassed)
                                   : (shadow ? LimitOutcome::kShadowDenied : LimitOutcome::kDenied);
  auto& counted =
      words[static_cast<std::size_t>(outcome) * kSources + static_cast<std::size_t>(source)];
  const std::uint64_t turn = counted.load(std::memory_order_relaxed);
  counted.store(turn + 1, std::memory_order_relaxed);
  const bool has_wait = verdict.outcome == weir::Outcome::kDenied && verdict.retry_known;
  if (has_wait && !shadow) count_wait(verdict.retry_after, words + kWaits);
  // A store that failed told no numbers; an unlimited limit has none.
  const bool known = source != Source::kFailOpen && source != Source::kFailClosed;
  if (is_looked_at(turn) && known && verdict.quota - 1 < kLargestQuota)
    count_fullness(verdict, words + kFullness);
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

inline void LimitCounters::count_wait(Duration wait, std::atomic<std::uint64_t>* words) {
  const std::int64_t ns = std::max<std::int64_t>(wait.count(), 0);
  metrics::detail::add_to(words[place_of_wait(ns)], 1);
  metrics::detail::add_to(words[kWaitSlots - 1], static_cast<std::uint64_t>(ns));
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
