#include "store/redis/deny_cache.h"

namespace weir::store::redis {

const DenyCache::Entry* DenyCache::entry_for(Shard& shard, const Hash128& id, const Call& call) {
  const auto found = shard.entries.find(id);
  if (found == shard.entries.end()) return nullptr;
  const Entry& entry = found->second;
  // A rule of another serial: the policy has been loaded again.
  if (entry.rule->serial() == call.rule->serial() && !is_over(entry, call.asked_ns)) return &entry;
  shard.entries.erase(found);
  return nullptr;
}

std::optional<Verdict> DenyCache::find(const Call& call) {
  if (!remembers(call)) return std::nullopt;
  const Hash128 id = call.counter.id;
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const Entry* entry = entry_for(shard, id, call);
  if (entry == nullptr || !entry->refused || call.cost < entry->cost) return std::nullopt;
  if (call.cost > entry->cost && !call.rule->also_larger()) return std::nullopt;
  const Verdict verdict =
      call.rule->decide_later(entry->view, call.cost, entry->now_us, passed_us(*entry, call));
  if (verdict.outcome != Outcome::kDenied) return std::nullopt;
  return verdict;
}

std::optional<Verdict> DenyCache::last_seen(const Call& call) {
  if (!remembers(call)) return std::nullopt;
  const Hash128 id = call.counter.id;
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const Entry* entry = entry_for(shard, id, call);
  if (entry == nullptr) return std::nullopt;
  const CounterRule& rule = *call.rule;
  const std::int64_t passed = passed_us(*entry, call);
  if (rule.kind() == Kind::kLog) {
    // What is known of a log is who leaves first, and what stands in the way of that one cost.
    if (call.cost != entry->cost) return std::nullopt;
    const Verdict then = rule.decide(entry->view, call.cost, entry->now_us);
    if (then.remaining < then.quota && then.next_after <= std::chrono::microseconds(passed)) {
      return std::nullopt;
    }
  }
  const Verdict verdict = rule.decide_later(entry->view, call.cost, entry->now_us, passed);
  if (!verdict.allowed()) return verdict;
  return rule.decide_later(entry->view, 0, entry->now_us, passed);
}

void DenyCache::remember(const Call& call, bool refused, const CounterRule::View& view,
                         std::int64_t now_us) {
  if (!remembers(call)) return;
  const Hash128 id = call.counter.id;
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const Events& since = events_of(id);
  if (since.forgotten.load(std::memory_order_relaxed) != call.counter.forgotten) return;
  refused = refused && now_us >= since.charged_us.load(std::memory_order_relaxed);
  if (shard.entries.size() >= kMaxPerShard) make_room(shard, call.asked_ns);
  const Entry* before = entry_for(shard, id, call);
  if (!refused && before != nullptr && before->refused) return;  // of a larger cost: it still holds
  shard.entries[id] = Entry{call.rule, view, call.cost, now_us, call.asked_ns, refused};
}

void DenyCache::forget(std::string_view name) {
  const Hash128 id = id_of(name);
  events_of(id).forgotten.fetch_add(1, std::memory_order_relaxed);
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  shard.entries.erase(id);
}

void DenyCache::charged(const Call& call, std::int64_t now_us) {
  if (!remembers(call)) return;
  const Hash128 id = call.counter.id;
  events_of(id).charged_us.store(now_us, std::memory_order_relaxed);
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(id);
  if (found != shard.entries.end()) found->second.refused = false;
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

DenyCache::Asked DenyCache::ask(std::string_view name) const {
  const Hash128 id = id_of(name);
  return {id, events_[id.low % kEvents].forgotten.load(std::memory_order_relaxed)};
}

void DenyCache::make_room(Shard& shard, std::int64_t steady_ns) const {
  std::erase_if(shard.entries, [&](const auto& entry) { return is_over(entry.second, steady_ns); });
  if (shard.entries.size() >= kMaxPerShard) shard.entries.erase(shard.entries.begin());
}

}  // namespace weir::store::redis
