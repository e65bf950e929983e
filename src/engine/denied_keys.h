// DeniedKeys: which keys are refused most, in bounded memory, however many keys there are.
//
// A space-saving sketch (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k
// elements in data streams", 2005) of kSets x kWays entries. A refusal of a key that has an entry
// adds to it; one that has none takes over the smallest entry of its set, whose count it inherits
// as its error. So a count is never too low, too high by at most its error, and never falls; errors
// stay below refusals / (kSets x kWays) on average, and are 0 until a set has overflowed.
// Deviations:
// 1. Entries lie in sets that a keyed hash chooses, so that nothing but one set is searched; nobody
//    outside can aim at a set.
// 2. A thread that sees more than kExact refusals within about a second counts one in n, n-fold,
//    n doubling with each further kExact: then a count is an estimate.
//
// THREADS: any. Two threads meet only at keys of the same part of the sketch.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "policy/policy.h"
#include "weir/time.h"

namespace weir::engine {

struct DeniedKey {
  std::string limit;
  std::string shown;  // for people: "ip=203.0.113.5", or "#" and a hash
  // Its attributes and their values, where they may be shown.
  std::vector<std::pair<std::string, std::string>> parts;
  std::uint64_t count = 0;
  std::uint64_t error = 0;
};

class DeniedKeys {
 public:
  static constexpr std::size_t kSets = 128;
  static constexpr std::size_t kWays = 16;
  static constexpr std::uint32_t kExact = 4096;

  DeniedKeys();

  void configure(const policy::Metrics& settings);

  // `key` as KeySpec::append wrote it. Does nothing where keys are not told.
  void count(std::string_view limit, std::string_view key, Instant now);

  // The most refused, the first of them first; at most `metrics.top_keys`.
  std::vector<DeniedKey> top() const;
  // The largest error among them.
  std::uint64_t error() const;
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // A key as top() shows it, under the settings of this moment.
  std::string show(std::string_view limit, std::string_view key) const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;
    std::string limit;
    std::string key;  // encoded; cut after kMaxKeyBytes
  };
  struct Set {
    std::array<Entry, kWays> entries;
  };
  static constexpr std::size_t kMaxKeyBytes = 512;
  static constexpr std::size_t kLocks = 16;

  static std::uint64_t weight(Instant now);
  [[gnu::noinline]] void add(std::string_view limit, std::string_view key,
                             std::uint64_t stands_for);
  std::vector<Entry> largest(std::size_t count) const;
  std::string show(const Entry& entry) const;

  const KeyedHash hash_;
  std::atomic<bool> on_{true};
  std::atomic<bool> hashed_{false};
  std::atomic<std::uint32_t> top_{50};
  std::atomic<bool> any_{false};
  mutable std::array<std::mutex, kLocks> locks_;  // of the sets by number, modulo
  const std::unique_ptr<Set[]> sets_;
};

}  // namespace weir::engine
