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
// 2. A thread that counts more than kExact refusals within a second counts one in n, n-fold, n
//    doubling with each further kPerStride that it counts: then a count is an estimate. So a thread
//    takes the way to the sketch some 14,000 times in a second at most, and a refusal of a flood
//    costs it a comparison and a countdown.
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
#include "base/seconds.h"
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
  static constexpr std::uint32_t kPerStride = 1024;

  DeniedKeys();

  void configure(const policy::Metrics& settings);

  // How many refusals the one at hand stands for; 0: it is passed over, as most of a flood's are.
  // To be asked once for each, before count(). WHY apart: no key need be found for what is passed
  // over.
  static std::uint64_t weight(Instant now) {
    if (now.steady_ns < pace_.until_ns && --pace_.skip >= 0) return 0;
    return pace_.take(now.steady_ns);
  }
  // `key` as KeySpec::append wrote it. Does nothing where keys are not told.
  void count(std::string_view limit, std::string_view key, std::uint64_t weight);

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

  // How a thread goes about the refusals of the running second.
  struct Pace {
    static constexpr std::int64_t kPeriodNs = kNsPerSecond;

    std::int64_t until_ns = 0;
    std::int64_t skip = 0;   // refusals that are passed over before the next; negative: none
    std::uint32_t left = 0;  // to count before the stride doubles
    std::uint32_t stride = 1;
    std::uint64_t random = 0x9E3779B97F4A7C15u;  // xorshift; WHY not in step: clients have rhythms

    // The next that is counted: how many it stands for.
    std::uint64_t take(std::int64_t now_ns);
  };

  std::vector<Entry> largest(std::size_t count) const;
  std::string show(const Entry& entry) const;

  static thread_local constinit Pace pace_;

  const KeyedHash hash_;
  std::atomic<bool> on_{true};
  std::atomic<bool> hashed_{false};
  std::atomic<std::uint32_t> top_{50};
  std::atomic<bool> any_{false};
  mutable std::array<std::mutex, kLocks> locks_;  // of the sets by number, modulo
  const std::unique_ptr<Set[]> sets_;
};

}  // namespace weir::engine
