// KeySample: how many keys each counter holds, from a sample of bounded size: entries themselves
// say no name (they are sixteen bytes).
//
// A key is noted when it comes, with chance 2^-level; the level rises as the sample fills up, and
// falls when it has emptied. A noted key stands for as many as its level said when it came, so that
// sums are right on average; up to kMax keys they are exact. A key that has gone is taken out when
// somebody counts.
//
// THREADS: any. add() takes no lock for a key that is not noted.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/siphash.h"

namespace weir::store {

class KeySample {
 public:
  static constexpr std::size_t kMax = 16'384;

  // A key of this counter has come. `id` is keyed and even in all its bits.
  void add(const Hash128& id, std::string_view counter) {
    const unsigned level = level_.load(std::memory_order_relaxed);
    if (is_noted(id, level)) note(id, counter, level);
  }

  // The keys of each counter. `is_held` says whether a key is still there.
  std::map<std::string, std::uint64_t> count(const std::function<bool(const Hash128&)>& is_held);

 private:
  struct Noted {
    const std::string* counter;  // a key of names_
    unsigned level;
  };
  struct IdHash {
    std::size_t operator()(const Hash128& id) const { return id.low; }
  };

  static bool is_noted(const Hash128& id, unsigned level) {
    return level == 0 || id.high >> (64 - level) == 0;
  }
  void note(const Hash128& id, std::string_view counter, unsigned level);
  void raise_level();

  std::atomic<unsigned> level_{0};  // relaxed: any value that was right a moment ago will do
  std::mutex mutex_;
  // Of the keys noted; what is left of counters that are gone is their names.
  std::map<std::string, std::uint64_t, std::less<>> names_;
  std::unordered_map<Hash128, Noted, IdHash> noted_;
};

}  // namespace weir::store
