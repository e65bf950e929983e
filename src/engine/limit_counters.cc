#include "engine/limit_counters.h"

#include <algorithm>
#include <limits>
#include <span>

namespace weir::engine {
namespace {

constexpr std::string_view kOutcomeNames[] = {"allowed", "denied", "passed", "shadow_denied"};

constexpr auto kLargestQuota = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

std::vector<double> in_seconds(std::span<const std::int64_t> ns) {
  std::vector<double> seconds;
  for (const std::int64_t bound : ns) seconds.push_back(static_cast<double>(bound) / 1e9);
  return seconds;
}

}  // namespace

const std::vector<double> kWaitBounds = in_seconds(kWaitBoundsNs);
const std::vector<double> kFullnessBounds = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

std::string_view to_string(LimitOutcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

LimitCounters::LimitCounters()
    : row_(metrics::Row::take(kWaits + kWaitSlots)),
      block_(row_.first() / metrics::detail::kSlotsPerBlock),
      place_(row_.first() % metrics::detail::kSlotsPerBlock) {}

std::atomic<std::uint64_t>* LimitCounters::first_touch() const {
  return row_.here();
}

// WHY not Histogram::observe: this is on every decision's way. All bounds are twentieths, so that
// one look tells the place.
void LimitCounters::count_fullness(const Verdict& verdict, Source source,
                                   std::atomic<std::uint64_t>* words) {
  // A store that failed told no numbers; an unlimited limit has none.
  if (source == Source::kFailOpen || source == Source::kFailClosed) return;
  if (verdict.quota - 1 >= kLargestQuota) return;
  // Most refusals: no division for nothing.
  if (verdict.remaining == 0) return metrics::detail::add_to(words[0], 1);
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

}  // namespace weir::engine
