// KeyedCore and StoreCore: what stands behind the public KeyedLimiter and Store.
//
// THREADS: any.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "limit/rule.h"
#include "store/memory/memory_store.h"
#include "store/memory/takeover.h"
#include "weir/keyed_limiter.h"

namespace weir::library {

// Sets of numbers, compiled.
struct Rules {
  std::vector<limit::Rule> rules;
  std::optional<store::MemoryStore::QuickRule> quick;  // where they are one token bucket
  Inherit inherit = Inherit::kAsIs;                    // how the limiter's keys came to them
  static Result<std::shared_ptr<const Rules>> make(const std::vector<Numbers>& numbers,
                                                   Inherit inherit = Inherit::kAsIs);
  bool same_numbers(const Rules& other) const;
};

class StoreCore {
 public:
  explicit StoreCore(const StoreOptions& options);

  store::MemoryStore memory;
  const Clock& clock;

  bool claim(std::string_view name);
  void release(std::string_view name);

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> names_;  // one for each limiter that lives
};

// The keys that are refused until a moment. Costs one load while there are none.
class Blocks {
 public:
  static constexpr std::size_t kMax = 65'536;

  // False when there is no room.
  bool add(std::string_view key, std::int64_t until, std::int64_t now);
  void remove(std::string_view key);
  // Until when, if after `now`.
  std::optional<std::int64_t> find(std::string_view key, std::int64_t now);
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>{}(key);
    }
  };
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> until_;
};

class KeyedCore {
 public:
  static constexpr std::size_t kMaxVersions = 4096;

  KeyedCore(std::string name, std::shared_ptr<const Rules> rules, std::shared_ptr<StoreCore> store);
  ~KeyedCore();

  // The counters that a call meets, and how each is taken over where its numbers were others.
  struct Charges {
    boost::container::small_vector<store::Charge, 4> all;
    boost::container::small_vector<const store::Takeover*, 4> takeovers;
  };

  StoreCore& store() { return *store_; }
  Instant or_now(std::optional<Instant> now) const { return now ? *now : store_->clock.now(); }
  // The numbers in force; they live as long as this, so that a call finishes under those it began
  // with and pays nothing for it.
  const Rules& rules() const { return *rules_.load(std::memory_order_acquire); }
  // False when there is no room for more versions. `inherit` goes for keys that were counted under
  // an earlier version, not for those that a call's own numbers were used on last.
  bool use(std::shared_ptr<const Rules> rules);
  Blocks& blocks() { return blocks_; }

  // Adds the counters that a call meets. The rules outlive the charges.
  void add(const Rules& rules, std::string_view key, std::uint64_t cost, Charges& charges) const;

  struct Taken {
    Verdict verdict;
    Instant at;
  };
  Taken take(const Rules& rules, std::string_view key, std::uint64_t cost, Instant now);
  bool allow(const Rules& rules, std::string_view key, std::uint64_t cost, Instant now);
  // The same for each call of its own, side by side where one set of numbers allows it.
  void take_each(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                 std::span<Verdict> verdicts);
  // Gives `cost` back, or takes it though it may not be there.
  void correct(std::string_view key, store::Change change, std::uint64_t cost, Instant now,
               std::optional<Instant> charged_at);
  // The refusal of a blocked key, or nothing: a call of `cost` is told to come when it would be
  // admitted if nobody else called, at the block's end or later, or never.
  std::optional<Verdict> blocked(const Rules& rules, std::string_view key, std::uint64_t cost,
                                 Instant now);
  // The steady time that a sample counts as: a late one as the latest that the store has seen.
  std::int64_t seen_ns(Instant now) const;
  // How many tokens a call could take, as far as its numbers go.
  std::uint64_t left(const Rules& rules, std::string_view key, Instant now);

 private:
  using Answers = boost::container::small_vector<store::Answer, 4>;
  using Spot = store::MemoryStore::Spot;
  using Touched = store::MemoryStore::Touched;

  bool was_in_force(const limit::Rule& rule);
  // Whether a call is first tried without a lock, here.
  bool is_quick(const Rules& rules) const { return rules.quick && blocks_.empty(); }
  // Without a lock; not made where take_locked() must be asked.
  Touched take_quickly(const Rules& rules, std::string_view key, std::uint64_t cost, Instant now);
  Taken take_locked(const Rules& rules, std::string_view key, std::uint64_t cost, Instant now);
  // What take() would answer for each set of numbers.
  Answers look(const Rules& rules, std::string_view key, std::uint64_t cost, Instant now);
  void take_in_turn(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                    std::span<Verdict> verdicts);
  void take_side_by_side(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                         std::span<Verdict> verdicts);
  std::size_t touch_some(const Rules& rules, std::span<const KeyedCall> calls, const Spot* spots,
                         Instant now, Verdict* verdicts);

  static constexpr std::size_t kAtOnce = 16;

  std::string name_;
  std::vector<std::string> counters_;  // one for each set of numbers
  std::shared_ptr<StoreCore> store_;
  KeyedHash::Name hashed_name_;  // of the first
  std::mutex versions_mutex_;
  std::vector<std::shared_ptr<const Rules>> versions_;  // all that were in force, each once
  std::atomic<const Rules*> rules_;
  std::array<store::Takeover, 4> takeovers_;  // by Inherit
  Blocks blocks_;
};

inline KeyedCore::Touched KeyedCore::take_quickly(const Rules& rules, std::string_view key,
                                                  std::uint64_t cost, Instant now) {
  if (!is_quick(rules)) return {};
  store::MemoryStore& memory = store_->memory;
  const Spot spot = memory.locate(hashed_name_, key);
  const store::MemoryStore::Visit visit(memory, now);
  return memory.touch(visit, spot, *rules.quick, memory.place_of(*rules.quick), cost);
}

inline bool KeyedCore::allow(const Rules& rules, std::string_view key, std::uint64_t cost,
                             Instant now) {
  const Touched touched = take_quickly(rules, key, cost, now);
  if (touched.made()) return touched.admitted();
  return take_locked(rules, key, cost, now).verdict.allowed();
}

}  // namespace weir::library
