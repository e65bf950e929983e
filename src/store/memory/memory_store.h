// MemoryStore: counters in this process, shared by all of its threads and exact among them.
//
// A call that meets one token bucket takes from it without a lock, by one compare-and-swap
// (slot_table.h), or by a plain store while one thread alone has called (base/entrance.h). Any
// other request locks the shards of its counters, in one order, holds the slots among them,
// decides, and writes; nobody sees half of it. Time never goes back: all decisions share one
// high-water mark. Bounded by `max_keys`; who goes when it is full stands in shard.h. Keys are kept
// as fingerprints under a secret of this store. The chance that any two of n keys share one is
// below n^2 / 2^129 in wide entries; for slots, which keep fewer bits, see slot_table.h.
//
// THREADS: any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/entrance.h"
#include "base/keyed_hash.h"
#include "store/memory/high_water.h"
#include "store/memory/key_sample.h"
#include "store/memory/once_book.h"
#include "store/memory/rule_book.h"
#include "store/memory/shard.h"
#include "store/store.h"
#include "weir/result.h"

namespace weir::store {

struct Takeover;  // takeover.h

struct MemoryOptions {
  // At least 1, at most kMaxKeys; what is outside counts as it.
  std::size_t max_keys = 1'000'000;
  // Moments at which calls were made, over all keys of limits that keep them one by one (16 bytes
  // each); 0: four for each key. When there is no room for more, a key's two oldest become one,
  // which holds its calls back longer, and never lets one through.
  std::size_t max_marks = 0;
  // Corrections that are remembered until they cannot be made any more (once_book.h); some 40 bytes
  // each.
  std::size_t max_once = 1'000'000;
};

class MemoryStore final : public Store {
 public:
  static constexpr std::size_t kMaxKeys = std::size_t{1} << 30;

  explicit MemoryStore(const MemoryOptions& options = {});

  // Runs `done` before it returns.
  void charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
              Done done) override;
  // The same, for callers who need no store but this one. Counters that were written under other
  // numbers are taken over as `takeovers` has it, one for each charge (null: as they are), at their
  // next use or look; as they are where it is empty.
  using Takeovers = std::span<const Takeover* const>;
  Admission charge_now(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                       Takeovers takeovers = {});

  // The same again, for callers who know that it takes a lock: touch() has not made the call.
  Admission charge_under_lock(std::span<const Charge> charges, Instant now,
                              std::span<Answer> answers, Takeovers takeovers = {});

  // What charge_now() would answer. Charges nothing.
  void look_now(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                Takeovers takeovers = {});

  // For callers with many keys of one token bucket: the steps of a call that needs no lock, told
  // apart, so that they may be taken for several keys side by side.
  //
  //   spot = locate(name, key);
  //   Visit visit(store, now);  touch(visit, spot, rule, place_of(rule), cost)
  //
  // Where touch() has not made the call, charge_under_lock() does, after the visit.
  struct QuickRule {
    std::uint64_t serial;  // of the limit::Rule
    limit::NarrowBucket bucket;
    // Nothing for a rule whose keys all go to the lock.
    static std::optional<QuickRule> of(const limit::Rule& rule);
  };
  // WHY two words: it is handed over in registers.
  struct Touched {
    enum Call : std::uint64_t { kNotMade, kRefused, kAdmitted };
    std::uint64_t debt = 0;  // of the bucket, after the call
    Call call = kNotMade;
    bool made() const { return call != kNotMade; }
    bool admitted() const { return call == kAdmitted; }
    limit::NarrowBucket::Step step() const { return {debt, admitted()}; }
  };
  KeyedHash::Name hashed(std::string_view counter) const { return hash_.name(counter); }
  // Being in the store, where it is `now` or later. One at a time of a thread, which meanwhile
  // calls nothing but touch() and place_of().
  class Visit : public Entrance::Visit {
   public:
    Visit(MemoryStore& store, Instant now) : Entrance::Visit(store.entrance_) {
      store.time_.raise(now, alone());
    }
  };
  // A key's fingerprint, and the line that its slot is looked for in first, on its way into the
  // cache.
  struct Spot {
    std::uint64_t low;  // of the fingerprint
    Line* line;
  };
  Spot locate(const KeyedHash::Name& counter, std::string_view key) const {
    return spot_of(hash_(counter, key));
  }
  // The place of a rule in the book, which it has for ever; 0 where touch() cannot be asked.
  std::uint32_t place_of(const QuickRule& rule) const { return book_.place_of(rule.serial); }
  Touched touch(const Visit& visit, const Spot& spot, const QuickRule& rule, std::uint32_t place,
                std::uint64_t cost);
  // The latest instant that the store was told; before that, the earliest there is.
  Instant now() const { return time_.now(); }

  // Runs `told` before it returns.
  void correct(std::span<const Charge> charges, const std::optional<Once>& once, Instant now,
               Corrected told) override;
  // The same, for callers who need no store but this one.
  Correction correct_now(std::span<const Charge> charges, const std::optional<Once>& once,
                         Instant now, Takeovers takeovers = {});
  // Runs `told` before it returns.
  void reset(std::span<const Charge> charges, Corrected told) override;

  // Drops every entry that equals fresh by now, and says how many. Calls do this a little at a
  // time; a timer may do it for a store that gets none.
  std::size_t sweep(Instant now);

  // Writes all counters to a file, readable by its owner alone (it holds the store's secret), which
  // takes the place of `file` whole or not at all; says how many. Others may call meanwhile.
  // ERRORS: kIo.
  Result<std::size_t> save(const std::string& file, Instant now);
  // Reads what save() wrote, in this process or another, and says how many counters are held then:
  // 0 where there is no such file. Counters that are fresh by `now` are left out; so are those
  // beyond max_keys, which count as evicted. REQUIRES: nobody has called this store before.
  // ERRORS: kIo, kInvalid where the file is damaged or of another kind.
  Result<std::size_t> restore(const std::string& file, Instant now);

  // Counters held, those not yet dropped though fresh included.
  std::size_t keys() const { return budget_.entries.load(std::memory_order_relaxed); }
  // The same by counter: exact up to KeySample::kMax keys, else an estimate.
  std::map<std::string, std::uint64_t> keys_by_counter();
  // Of these, the token buckets that calls find without a lock.
  std::size_t keys_in_slots();
  // Counters forgotten though they were not fresh.
  std::uint64_t evictions() const { return budget_.evictions.load(std::memory_order_relaxed); }
  std::size_t marks() const { return budget_.marks.load(std::memory_order_relaxed); }
  std::uint64_t joined_marks() const {
    return budget_.joined_marks.load(std::memory_order_relaxed);
  }
  // Sets of numbers that counters were written under.
  std::size_t rules() const { return book_.size(); }

 private:
  struct Place;
  class Request;
  class Restorer;

  static constexpr std::size_t kMaxShards = 1024;

  void lay_out(std::size_t shards);

  static constexpr std::int64_t kNoEpoch = std::numeric_limits<std::int64_t>::min();

  Hash128 fingerprint(const Charge& charge) const { return hash_(charge.counter, charge.key); }
  Spot spot_of(const Hash128& id) const {
    return {id.low, lines_->prefetch(id.high & shard_mask_, id.low)};
  }
  Shard& shard_of(const Hash128& id) { return shards_[id.high & shard_mask_]; }
  SlotTable& table_of(const Hash128& id) const { return tables_[id.high & shard_mask_]; }
  Admission charge_locked(std::span<const Charge> charges, std::span<Answer> answers,
                          Takeovers takeovers, bool look = false);
  Touched touch_shared(BucketSlot& slot, std::uint64_t name, const limit::NarrowBucket& bucket,
                       std::uint64_t cost);
  // What a bucket would be after a call.
  struct Next {
    Touched touched;  // made, where it can be said without the lock
    std::uint64_t arrival = 0;
  };
  Next next(const limit::NarrowBucket& bucket, std::uint64_t arrival, std::uint64_t cost) const;
  void start_epoch();
  void reclaim_rules();

  KeyedHash hash_;
  std::size_t shard_mask_ = 0;
  std::optional<LineSpace> lines_;
  alignas(64) Entrance entrance_;
  alignas(64) HighWater time_;
  std::atomic<std::int64_t> epoch_{kNoEpoch};  // written once
  alignas(64) Budget budget_;
  OnceBook once_;
  std::mutex reclaiming_;
  RuleBook book_;
  std::unique_ptr<SlotTable[]> tables_;
  std::unique_ptr<Shard[]> shards_;
  KeySample sample_;
};

inline std::optional<MemoryStore::QuickRule> MemoryStore::QuickRule::of(const limit::Rule& rule) {
  const limit::TokenBucketRule* const bucket = rule.token_bucket();
  if (!kSlotsOpen || bucket == nullptr || !limit::NarrowBucket::can_hold(*bucket)) {
    return std::nullopt;
  }
  return QuickRule{rule.serial(), limit::NarrowBucket(*bucket)};
}

// Not made where the key must be asked under the lock: it is not there, or held, or written under
// other numbers, or a clock's step left it beyond its reach, or others were faster too often.
inline MemoryStore::Touched MemoryStore::touch(const Visit& visit, const Spot& spot,
                                               const QuickRule& rule, std::uint32_t place,
                                               std::uint64_t cost) {
  if (place == 0) return {};
  const std::uint64_t name = BucketSlot::name_of(spot.low, place);
  BucketSlot* const slot = SlotTable::seek(spot.line, name);
  if (slot == nullptr) return {};
  if (!visit.alone()) return touch_shared(*slot, name, rule.bucket, cost);
  const std::uint64_t arrival = slot->arrival.load(std::memory_order_relaxed);
  const Next made = next(rule.bucket, arrival, cost);
  if (made.touched.made()) slot->set(made.arrival);
  return made.touched;
}

inline MemoryStore::Next MemoryStore::next(const limit::NarrowBucket& bucket, std::uint64_t arrival,
                                           std::uint64_t cost) const {
  const std::int64_t since = time_.steady_ns() - epoch_.load(std::memory_order_relaxed);
  if (!bucket.reaches(since)) return {};
  const std::uint64_t ticks = bucket.ticks(since);
  const std::uint64_t debt = arrival > ticks ? arrival - ticks : 0;
  if (debt > bucket.capacity()) return {};
  const limit::NarrowBucket::Step step = bucket.decide(debt, cost);
  return {{step.debt, step.admitted ? Touched::kAdmitted : Touched::kRefused},
          step.debt == debt ? arrival : ticks + step.debt};
}

}  // namespace weir::store
