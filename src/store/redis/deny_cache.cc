#include "store/redis/deny_cache.h"

namespace weir::store::redis {

std::optional<Verdict> DenyCache::find(std::string_view name, const CounterRule& rule,
                                       std::uint64_t cost, std::int64_t steady_ns) {
  if (!enabled() || cost == 0 || !rule.denial_lasts()) return std::nullopt;
  const Hash128 id = id_of(name);
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(id);
  if (found == shard.entries.end()) return std::nullopt;
  const Entry& entry = found->second;
  // A rule of other numbers: the policy has been loaded again.
  if (entry.rule->serial() != rule.serial() || is_over(entry, steady_ns)) {
    shard.entries.erase(found);
    return std::nullopt;
  }
  if (cost < entry.cost || (cost > entry.cost && !rule.also_larger())) return std::nullopt;
  const std::int64_t passed_us = (steady_ns - entry.asked_ns) / 1000;
  const Verdict verdict = rule.decide_later(entry.view, cost, entry.now_us, passed_us);
  if (verdict.outcome != Outcome::kDenied) return std::nullopt;
  return verdict;
}

void DenyCache::remember(std::string_view name, std::shared_ptr<const CounterRule> rule,
                         std::uint64_t cost, const CounterRule::View& view, std::int64_t now_us,
                         std::int64_t steady_ns) {
  if (!enabled() || cost == 0 || !rule->denial_lasts()) return;
  const Hash128 id = id_of(name);
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  if (shard.entries.size() >= kMostPerShard) make_room(shard, steady_ns);
  shard.entries[id] = Entry{std::move(rule), view, cost, now_us, steady_ns};
}

void DenyCache::forget(std::string_view name) {
  const Hash128 id = id_of(name);
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  shard.entries.erase(id);
}

std::size_t DenyCache::size() const {
  std::size_t size = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    size += shard.entries.size();
  }
  return size;
}

Hash128 DenyCache::id_of(std::string_view name) const {
  SipHash hash(secret_);
  hash.add(name);
  return hash.finish();
}

void DenyCache::make_room(Shard& shard, std::int64_t steady_ns) const {
  std::erase_if(shard.entries, [&](const auto& entry) { return is_over(entry.second, steady_ns); });
  if (shard.entries.size() >= kMostPerShard) shard.entries.erase(shard.entries.begin());
}

}  // namespace weir::store::redis
