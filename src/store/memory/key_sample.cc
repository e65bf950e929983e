#include "store/memory/key_sample.h"

#include <algorithm>
#include <vector>

namespace weir::store {
namespace {

constexpr unsigned kMaxLevels = 40;

}  // namespace

void KeySample::note(const Hash128& id, std::string_view counter, unsigned level) {
  const std::lock_guard lock(mutex_);
  auto name = names_.find(counter);
  if (name == names_.end()) name = names_.emplace(std::string(counter), 0).first;
  noted_.insert_or_assign(id, Noted{&name->first, level});
  if (noted_.size() > kMax) raise_level();
}

// Every second key stays, and stands for twice as many.
void KeySample::raise_level() {
  unsigned level = level_.load(std::memory_order_relaxed);
  while (noted_.size() > kMax / 2 && level < kMaxLevels) {
    ++level;
    std::erase_if(noted_, [level](const auto& one) { return !is_noted(one.first, level); });
    for (auto& [id, noted] : noted_) noted.level = std::max(noted.level, level);
  }
  level_.store(level, std::memory_order_relaxed);
}

std::map<std::string, std::uint64_t> KeySample::count(
    const std::function<bool(const Hash128&)>& is_held) {
  std::vector<Hash128> ids;
  {
    const std::lock_guard lock(mutex_);
    ids.reserve(noted_.size());
    for (const auto& [id, noted] : noted_) ids.push_back(id);
  }
  // WHY without the lock: who adds holds a shard's, which `is_held` takes.
  std::erase_if(ids, is_held);
  std::map<std::string, std::uint64_t> counts;
  const std::lock_guard lock(mutex_);
  for (const Hash128& id : ids) noted_.erase(id);
  for (const auto& [id, noted] : noted_) counts[*noted.counter] += std::uint64_t{1} << noted.level;
  const unsigned level = level_.load(std::memory_order_relaxed);
  if (level > 0 && noted_.size() < kMax / 8) level_.store(level - 1, std::memory_order_relaxed);
  std::erase_if(names_, [&](const auto& name) { return !counts.contains(name.first); });
  return counts;
}

}  // namespace weir::store
