// What one key has used under one rule, and what a decision makes of it.
//
// THREADS: plain values.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "weir/decision.h"
#include "weir/time.h"

namespace weir::limit {

// The state of one key under one rule. What the words mean belongs to the algorithm; a fresh key
// has no state at all.
struct State {
  std::uint64_t word[3] = {0, 0, 0};
  friend bool operator==(const State&, const State&) = default;
};

// The outcome of one call. `next` replaces the state where `write` says so: when the call was
// charged, or when a clock had stepped back so far that the state had to be brought within reach.
struct Step {
  Verdict verdict;
  State next;
  bool write = false;
};

// As far as any rule may reach: from empty to full, or one window. 100 years of 365.25 days.
inline constexpr std::int64_t kMaxSpanNs = 36'525LL * 86'400 * 1'000'000'000;

// Instants beyond these count as these (years 1777 and 2162), so that no sum of an instant and a
// span leaves 64 bits.
inline constexpr std::int64_t kLatestNs = std::numeric_limits<std::int64_t>::max() - kMaxSpanNs;
inline constexpr std::int64_t kEarliestNs = -kLatestNs;

constexpr std::int64_t within_reach(std::int64_t ns) {
  return std::clamp(ns, kEarliestNs, kLatestNs);
}

// Windows and logs count no further than this, whatever is taken from them: far above any limit,
// and whole numbers up to it are exact in Redis too.
inline constexpr std::uint64_t kMaxCounted = (std::uint64_t{1} << 53) - 1;

constexpr std::uint64_t counted_up(std::uint64_t count, std::uint64_t cost) {
  if (count >= kMaxCounted) return count;
  return count + std::min(cost, kMaxCounted - count);
}

// The moment at which a state that never refills equals fresh.
inline constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

// Which of an Instant's two clocks a rule runs on.
enum class Timeline : std::uint8_t { kSteady, kWall };

constexpr std::int64_t read(Timeline timeline, Instant now) {
  return within_reach(timeline == Timeline::kSteady ? now.steady_ns : now.wall_ns);
}
constexpr std::optional<std::int64_t> read(Timeline timeline, const std::optional<Instant>& at) {
  if (!at) return std::nullopt;
  return read(timeline, *at);
}

}  // namespace weir::limit
