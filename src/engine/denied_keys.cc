#include "engine/denied_keys.h"

#include <algorithm>

#include "base/hex.h"
#include "base/siphash.h"
#include "engine/key.h"

namespace weir::engine {
namespace {

constexpr std::size_t kMaxShown = 128;
constexpr std::uint32_t kMaxStride = 1024;

}  // namespace

thread_local constinit DeniedKeys::Pace DeniedKeys::pace_;

DeniedKeys::DeniedKeys() : hash_(random_sip_key()), sets_(std::make_unique<Set[]>(kSets)) {}

void DeniedKeys::configure(const policy::Metrics& settings) {
  const bool on = settings.keys != policy::KeyForm::kOff && settings.top_keys > 0;
  hashed_.store(settings.keys == policy::KeyForm::kHashed, std::memory_order_relaxed);
  top_.store(on ? settings.top_keys : 0, std::memory_order_relaxed);
  on_.store(on, std::memory_order_relaxed);
}

std::uint64_t DeniedKeys::Pace::take(std::int64_t now_ns) {
  // The second clause: another clock, of another engine on this thread.
  if (now_ns >= until_ns || now_ns < until_ns - kPeriodNs) {
    until_ns = now_ns + kPeriodNs;
    left = kExact;
    stride = 1;
  }
  const std::uint32_t stands_for = stride;
  if (--left == 0) {
    left = kPerStride;
    if (stride < kMaxStride) stride *= 2;
  }
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  // On average stride - 1 are passed over.
  skip = static_cast<std::uint32_t>(random >> 32) % (2 * stride - 1);
  return stands_for;
}

void DeniedKeys::count(std::string_view limit, std::string_view key, std::uint64_t weight) {
  if (!on_.load(std::memory_order_relaxed)) return;
  const std::uint64_t hash = hash_(limit, key).high | 1;  // 0: an empty entry
  const std::size_t number = (hash >> 8) % kSets;
  std::lock_guard lock(locks_[number % kLocks]);
  Entry* least = &sets_[number].entries[0];
  for (Entry& entry : sets_[number].entries) {
    if (entry.hash == hash) {
      entry.count += weight;
      return;
    }
    if (entry.count < least->count) least = &entry;
  }
  least->hash = hash;
  least->error = least->count;
  least->count += weight;
  least->limit = limit;
  least->key = key.substr(0, kMaxKeyBytes);
  any_.store(true, std::memory_order_relaxed);
}

std::vector<DeniedKeys::Entry> DeniedKeys::largest(std::size_t count) const {
  std::vector<Entry> all;
  for (std::size_t number = 0; number < kSets && any(); ++number) {
    std::lock_guard lock(locks_[number % kLocks]);
    for (const Entry& entry : sets_[number].entries) {
      if (entry.hash != 0) all.push_back(entry);
    }
  }
  const auto more = [](const Entry& a, const Entry& b) {
    return a.count != b.count ? a.count > b.count : a.hash < b.hash;
  };
  std::sort(all.begin(), all.end(), more);
  if (all.size() > count) all.resize(count);
  return all;
}

std::string DeniedKeys::show(const Entry& entry) const {
  const bool whole = entry.key.size() < kMaxKeyBytes;
  std::string shown;
  if (!hashed_.load(std::memory_order_relaxed) && whole) shown = readable_key(entry.key);
  if (!shown.empty() && shown.size() <= kMaxShown) return shown;
  // Two long keys stay two.
  if (shown.size() > kMaxShown) shown.resize(kMaxShown);
  if (!shown.empty()) shown += "...";
  shown += '#';
  append_hex(shown, entry.hash);
  return shown;
}

std::string DeniedKeys::show(std::string_view limit, std::string_view key) const {
  Entry entry;
  entry.hash = hash_(limit, key).high | 1;
  entry.key = key.substr(0, kMaxKeyBytes);
  return show(entry);
}

std::vector<DeniedKey> DeniedKeys::top() const {
  std::vector<DeniedKey> keys;
  for (const Entry& entry : largest(top_.load(std::memory_order_relaxed))) {
    DeniedKey& key = keys.emplace_back();
    key.limit = entry.limit;
    key.shown = show(entry);
    const bool plain = !hashed_.load(std::memory_order_relaxed);
    if (plain && entry.key.size() < kMaxKeyBytes) key.parts = key_parts(entry.key);
    key.count = entry.count;
    key.error = entry.error;
  }
  return keys;
}

std::uint64_t DeniedKeys::error() const {
  std::uint64_t error = 0;
  for (const Entry& entry : largest(top_.load(std::memory_order_relaxed))) {
    error = std::max(error, entry.error);
  }
  return error;
}

}  // namespace weir::engine
