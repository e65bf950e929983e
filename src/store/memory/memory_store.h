// MemoryStore: counters in this process, shared by all of its threads and exact among them.
//
// A call that meets one token bucket takes from it without a lock, by one compare-and-swap
// (slot_table.h). Any other request locks the shards of its counters, in one order, holds the slots
// among them, decides, and writes; nobody sees half of it. Time never goes back: all decisions
// share one high-water mark. Bounded by `max_keys`; who goes when it is full stands in shard.h.
// Keys are kept as fingerprints under a secret of this store. The chance that any two of n keys
// share one is below n^2 / 2^129 in wide entries; for slots, which keep fewer bits, see
// slot_table.h.
//
// THREADS: any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/keyed_hash.h"
#include "store/memory/high_water.h"
#include "store/memory/rule_book.h"
#include "store/memory/shard.h"
#include "store/store.h"
#include "weir/result.h"

namespace weir::store {

struct MemoryOptions {
  // At least 1, at most kMostKeys; what is outside counts as it.
  std::size_t max_keys = 1'000'000;
  // Moments at which calls were made, over all keys of limits that keep them one by one (16 bytes
  // each); 0: four for each key. When there is no room for more, a key's two oldest become one,
  // which holds its calls back longer, and never lets one through.
  std::size_t max_marks = 0;
};

class MemoryStore final : public Store {
 public:
  static constexpr std::size_t kMostKeys = std::size_t{1} << 30;

  explicit MemoryStore(const MemoryOptions& options = {});

  // Runs `done` before it returns.
  void charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
              Done done) override;
  // The same, for callers who need no store but this one.
  Admission charge_now(std::span<const Charge> charges, Instant now, std::span<Answer> answers);
  // Each charge is a request of its own, as if asked one by one. Where there are many, the counters
  // are fetched from memory side by side. REQUIRES: answers.size() == charges.size().
  void charge_each(std::span<const Charge> charges, Instant now, std::span<Answer> answers);
  void refund(std::span<const Charge> charges, Instant now) override;
  void reset(std::span<const Charge> charges) override;

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

  static constexpr std::size_t kMostShards = 1024;

  void lay_out(std::size_t shards);

  static constexpr std::int64_t kNoEpoch = std::numeric_limits<std::int64_t>::min();

  Hash128 fingerprint(const Charge& charge) const { return hash_(charge.counter, charge.key); }
  Shard& shard_of(const Hash128& id) { return shards_[id.high & shard_mask_]; }
  SlotTable& table_of(const Hash128& id) { return tables_[id.high & shard_mask_]; }
  std::optional<Admission> charge_quickly(const Charge& charge, const Hash128& id, Answer& answer);
  Admission charge_one(const Charge& charge, const Hash128& id, Answer& answer);
  Admission charge_locked(std::span<const Charge> charges, std::span<Answer> answers);
  void start_epoch();
  void reclaim_rules();

  KeyedHash hash_;
  std::size_t shard_mask_ = 0;
  alignas(64) HighWater time_;
  std::atomic<std::int64_t> epoch_{kNoEpoch};  // written once
  alignas(64) Budget budget_;
  std::mutex reclaiming_;
  RuleBook book_;
  std::optional<LineSpace> lines_;
  std::unique_ptr<SlotTable[]> tables_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace weir::store
