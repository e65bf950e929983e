#include "engine/ban_book.h"

#include <algorithm>
#include <limits>

namespace weir::engine {
namespace {

constexpr std::size_t kLooks = 8;  // entries looked at for one to drop

std::int64_t plus(std::int64_t ns, Duration span) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return ns > kMax - span.count() ? kMax : ns + span.count();
}

// The first lasts `length`, each further one twice as long, up to `doubling_to`.
Duration length_of(const policy::Ban& ban, std::uint32_t times) {
  Duration length = ban.length;
  for (std::uint32_t i = 1; i < times && length < ban.doubling_to; ++i) length *= 2;
  return std::min(length, ban.doubling_to);
}

}  // namespace

BanBook::BanBook() : hash_(random_sip_key()) {}

BanBook::Name BanBook::name_of(std::string_view limit, std::string_view key) const {
  return hash_(limit, key);
}

// REQUIRES: shard.mutex is held.
BanBook::Entry& BanBook::entry_of(Shard& shard, const Name& name, std::int64_t now_ns) {
  Entries& entries = shard.entries;
  const auto found = entries.find(name);
  if (found != entries.end()) return found->second;
  if (entries.size() >= kMaxKeys / kShards) {
    const auto worth = [now_ns](const Entry& entry) {
      return entry.until_ns > now_ns ? std::numeric_limits<std::size_t>::max()
                                     : entry.refusals.size();
    };
    // WHY from a bucket of the new name: a walk from the front would look at the same ones always.
    const Name* worst = nullptr;
    std::size_t least = 0;
    std::size_t bucket = entries.bucket(name);
    for (std::size_t looks = 0; looks < kLooks; bucket = (bucket + 1) % entries.bucket_count()) {
      for (auto it = entries.begin(bucket); it != entries.end(bucket); ++it, ++looks) {
        if (worst != nullptr && worth(it->second) >= least) continue;
        worst = &it->first;
        least = worth(it->second);
      }
    }
    entries.erase(Name(*worst));
  }
  return entries[name];
}

// REQUIRES: the mutex of the entry's shard is held.
void BanBook::begin(Entry& entry, const Banned& banned, std::int64_t now_ns) {
  entry.refusals.clear();
  entry.until_ns = plus(now_ns, banned.left);
  entry.forget_ns = plus(now_ns, banned.forgotten);
  entry.times = banned.times;
  entry.limit = banned.limit;
  entry.key = banned.key;
  std::int64_t last = last_end_ns_.load(std::memory_order_relaxed);
  while (last < entry.until_ns &&
         !last_end_ns_.compare_exchange_weak(last, entry.until_ns, std::memory_order_relaxed)) {
  }
}

Duration BanBook::refused(std::string_view limit, const policy::Ban& ban, std::string_view key,
                          Instant now) {
  // A key so long is refused by the limit alone.
  if (key.size() > kMaxKeyBytes) return Duration{0};
  if (sharing_.refused && sharing_.refused(limit, ban, key)) return Duration{0};
  return count(limit, ban, key, now);
}

Duration BanBook::count(std::string_view limit, const policy::Ban& ban, std::string_view key,
                        Instant now) {
  const std::int64_t now_ns = now.steady_ns;
  const Name name = name_of(limit, key);
  Banned banned;
  {
    Shard& shard = shard_of(name);
    std::lock_guard lock(shard.mutex);
    Entry& entry = entry_of(shard, name, now_ns);
    // Decided before the ban began.
    if (entry.until_ns > now_ns) return Duration(entry.until_ns - now_ns);
    std::erase_if(entry.refusals,
                  [&](std::int64_t at) { return at <= now_ns - ban.within.count(); });
    entry.refusals.push_back(now_ns);
    if (entry.refusals.size() < ban.after) return Duration{0};
    const std::uint32_t times = entry.forget_ns > now_ns ? entry.times + 1 : 1;
    const Duration length = length_of(ban, times);
    banned = {std::string(limit), std::string(key), length, times, length + ban.doubling_to};
    begin(entry, banned, now_ns);
  }
  if (told_) told_(banned);
  return banned.left;
}

Duration BanBook::look_up(std::string_view limit, std::string_view key, Instant now) const {
  const Name name = name_of(limit, key);
  const Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(name);
  if (found == shard.entries.end()) return Duration{0};
  return Duration(std::max<std::int64_t>(found->second.until_ns - now.steady_ns, 0));
}

void BanBook::learn(const Banned& banned, Instant now) {
  const Name name = name_of(banned.limit, banned.key);
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  if (banned.left <= Duration{0}) {
    shard.entries.erase(name);
  } else {
    begin(entry_of(shard, name, now.steady_ns), banned, now.steady_ns);
  }
}

void BanBook::begun(const Banned& banned, Instant now) {
  learn(banned, now);
  if (told_) told_(banned);
}

bool BanBook::lift(std::string_view limit, std::string_view key, Instant now) {
  const Name name = name_of(limit, key);
  bool banned = false;
  {
    Shard& shard = shard_of(name);
    std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(name);
    if (found != shard.entries.end()) {
      banned = found->second.until_ns > now.steady_ns;
      shard.entries.erase(found);
    }
  }
  if (sharing_.lifted) sharing_.lifted(limit, key);
  return banned;
}

std::vector<Banned> BanBook::list(Instant now) const {
  std::vector<Banned> out;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [name, entry] : shard.entries) {
      if (entry.until_ns <= now.steady_ns) continue;
      out.push_back({entry.limit, entry.key, Duration(entry.until_ns - now.steady_ns), entry.times,
                     Duration(entry.forget_ns - now.steady_ns)});
    }
  }
  return out;
}

}  // namespace weir::engine
