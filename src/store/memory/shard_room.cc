// How a shard makes room: what equals fresh goes, and where nothing does, the fullest of a key's
// neighbours.

#include <algorithm>

#include "store/memory/shard.h"

namespace weir::store {
namespace {

Fullness fullness_of(const Verdict& verdict) {
  return {verdict.remaining, verdict.quota, verdict.reset_after};
}

}  // namespace

std::size_t Shard::drop_fresh(Instant now, std::size_t most) {
  const Reckoning at = reckoning(now);
  std::size_t dropped = most == kAll ? table_->sweep_all(at) : table_->sweep_some(at);
  give_back(dropped);
  for (const auto timeline : {limit::Timeline::kSteady, limit::Timeline::kWall}) {
    const std::int64_t ns = limit::read(timeline, now);
    for (std::size_t i = 0; i < most && queue(timeline).due(ns); ++i) {
      if (!try_drop(timeline, ns)) continue;
      budget_->give_back();
      ++dropped;
    }
  }
  return dropped;
}

// Removes one counter, whose part of the budget the caller takes over.
void Shard::make_room(const Hash128& id, Instant now) {
  const Reckoning at = reckoning(now);
  if (table_->any_due(at.now)) {
    const std::size_t dropped = table_->sweep_all(at);
    if (dropped > 0) return give_back(dropped - 1);
  }
  for (const auto timeline : {limit::Timeline::kSteady, limit::Timeline::kWall}) {
    const std::int64_t ns = limit::read(timeline, now);
    while (queue(timeline).due(ns)) {
      if (try_drop(timeline, ns)) return;
    }
  }
  // An empty shard of a full store takes one entry more than the budget has.
  if (!evict_fullest(id, now)) return budget_->exceed();
  budget_->evictions.fetch_add(1, std::memory_order_relaxed);
}

bool Shard::evict_fullest(const Hash128& id, Instant now) {
  Fullness bucket_fullness;
  BucketSlot* const bucket = table_->fullest_neighbour(id, reckoning(now), bucket_fullness);
  const Slot wide = live_ > 0 ? fullest_neighbour(id, now) : kNone;
  if (wide != kNone &&
      (bucket == nullptr || fullness_of(peek(at(wide), now)).fuller_than(bucket_fullness))) {
    remove(wide);
    return true;
  }
  if (bucket == nullptr) return false;
  release_slot(*bucket);
  return true;
}

Verdict Shard::peek(const Entry& entry, Instant now) const {
  const limit::Rule& rule = *entry.rule->rule;
  return rule.keeps_log() ? rule.decide(log_of(entry), 0, now).verdict
                          : rule.decide(&entry.state, 0, now).verdict;
}

// REQUIRES: live_ > 0. Neighbours are the entries that follow a place that the fingerprint names.
Shard::Slot Shard::fullest_neighbour(const Hash128& id, Instant now) const {
  Slot best = kNone;
  Fullness best_fullness;
  Slot slot = static_cast<Slot>(id.high % slots_);
  for (std::size_t seen = 0; seen < std::min(kNeighbours, live_); slot = (slot + 1) % slots_) {
    if (at(slot).rule == nullptr) continue;
    ++seen;
    const Fullness candidate = fullness_of(peek(at(slot), now));
    if (best != kNone && !candidate.fuller_than(best_fullness)) continue;
    best = slot;
    best_fullness = candidate;
  }
  return best;
}

// Looks at the queue's first entry and removes it if it is fresh. REQUIRES: it is due.
bool Shard::try_drop(limit::Timeline timeline, std::int64_t now) {
  FreshQueue& waiting = queue(timeline);
  const Slot slot = waiting.top().slot;
  waiting.pop();
  const Entry& candidate = at(slot);
  if (candidate.rule == nullptr || candidate.rule->rule->timeline() != timeline) return false;
  const std::int64_t fresh_at = candidate.rule->rule->fresh_at(candidate.state);
  if (fresh_at > now) {
    waiting.push({fresh_at, slot});
    return false;
  }
  remove(slot);
  return true;
}

}  // namespace weir::store
