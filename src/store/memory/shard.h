// Shard: one lock's worth of a memory store: its counters by fingerprint, and who of them goes when
// room is needed.
//
// A token bucket that fits one word lives in the slot table (slot_table.h), where calls without a
// lock find it; all other counters, and buckets whose part of the slot table is full by bad luck,
// in wide entries: same answers. A bucket that finds room on being written moves to the slot table.
//
// An entry that equals fresh may be dropped at any time without changing an answer, so such
// entries go first, while the shard has any. Buckets that have just become fresh stay for a second
// more while the store has room: who comes back within it finds its slot without a lock. When no
// entry equals fresh, the fullest of a few neighbours goes (the largest share of its quota left,
// then the soonest fresh): that one forgets least. A drained key goes last. Nobody can choose whose
// neighbour a key becomes, since fingerprints are keyed.
//
// Memory is taken as it is used: the table doubles, entries come in small chunks that stay where
// they are.
//
// THREADS: everything under `mutex`.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/seconds.h"
#include "base/siphash.h"
#include "limit/state.h"
#include "store/memory/call_log.h"
#include "store/memory/fresh_queue.h"
#include "store/memory/fullness.h"
#include "store/memory/rule_book.h"
#include "store/memory/slot_table.h"
#include "weir/time.h"

namespace weir::store {

// How many entries all shards of a store may hold, and what became of the rest.
struct Budget {
  Budget(std::size_t entries_at_most, std::size_t marks_at_most)
      : max_entries(entries_at_most), max_marks(marks_at_most) {}

  bool take() {
    std::size_t seen = entries.load(std::memory_order_relaxed);
    while (seen < max_entries) {
      if (entries.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void exceed() { entries.fetch_add(1, std::memory_order_relaxed); }
  void give_back() { entries.fetch_sub(1, std::memory_order_relaxed); }
  // Whether the last quarter is being taken: then no entry is held for longer than it must be.
  bool scarce() const {
    return entries.load(std::memory_order_relaxed) > max_entries - max_entries / 4;
  }

  const std::size_t max_entries;
  std::atomic<std::size_t> entries{0};
  std::atomic<std::uint64_t> evictions{0};  // of entries that were not fresh

  const std::size_t max_marks;
  std::atomic<std::size_t> marks{0};           // of all logs
  std::atomic<std::uint64_t> joined_marks{0};  // for want of room: see CallLog::join_oldest()
};

struct Entry {
  Hash128 id;
  limit::State state;  // of a rule that keeps a log: which log, the moment of its newest call
  BookedRule* rule = nullptr;  // null: not in use
};

class alignas(64) Shard {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = 0xffffffff;

  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  // What all shards of a store share.
  struct Shared {
    Budget& budget;
    const RuleBook& book;
    const std::atomic<std::int64_t>& epoch;  // of the arrivals in slot tables
  };
  // REQUIRES: called once, before all else.
  void use(const Shared& shared, SlotTable& table) {
    budget_ = &shared.budget;
    book_ = &shared.book;
    epoch_ = &shared.epoch;
    table_ = &table;
  }

  std::mutex mutex;

  Slot find(const Hash128& id) const;
  const Entry& at(Slot slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  bool holds(Slot slot, const Hash128& id) const {
    return slot != kNone && at(slot).rule != nullptr && at(slot).id == id;
  }

  // Takes a counter in the slot table for this request alone, until let_go(). Nothing where it is
  // not there.
  struct Held {
    BookedRule* rule;
    limit::State state;
  };
  std::optional<Held> hold(const Hash128& id);
  void let_go(const Hash128& id);

  // Writes the state of `id` under `rule`, making room first where it is new. Of a log that went
  // meanwhile nothing is written. In all that follow `slot` is what find() said once: what another
  // counter of the same request needed room for may have gone since.
  void put(Slot slot, const Hash128& id, BookedRule* rule, const limit::State& state, Instant now);
  // Forgets a counter, wherever it lives.
  void erase(Slot slot, const Hash128& id);

  // The same for rules that keep a log: what `step` makes of a call of `cost`.
  void put_log(Slot slot, const Hash128& id, BookedRule* rule, limit::LogStep step,
               std::uint64_t cost, Instant now);
  limit::LogView log_of(const Entry& entry) const { return logs_[entry.state.word[0]]->view(); }
  // Takes calls out of the log (CallLog::take_out()), and says how many: none where it is gone. A
  // log left empty goes.
  std::uint64_t take_out(Slot slot, const Hash128& id, std::uint64_t cost,
                         std::optional<std::int64_t> charged_at, Instant now);
  // Adds calls made at `at`, whatever the limit.
  void put_in(Slot slot, const Hash128& id, BookedRule* rule, std::int64_t at, std::uint64_t cost,
              Instant now);

  // For a snapshot: each wide entry; and a bucket of which only the slot's part of the fingerprint
  // is known, which is false where the slot table has no room for it.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (Slot slot = 0; slot < slots_; ++slot) {
      if (at(slot).rule != nullptr) visit(at(slot));
    }
  }
  bool restore_bucket(const Hash128& id, BookedRule* rule, const limit::State& state, Instant now);

  // Drops entries that equal fresh, looking at no more than `most` candidates.
  std::size_t drop_fresh(Instant now, std::size_t most);

  // The booked form of `rule`.
  BookedRule* booked(const limit::Rule& rule, RuleBook& book);
  // For RuleBook's reclaim.
  void forget_booked() { recent_rules_ = {}; }

 private:
  static constexpr std::size_t kChunk = 32;
  static constexpr std::size_t kNeighbours = 16;
  static constexpr std::size_t kRecentRules = 16;
  static constexpr std::int64_t kPatienceNs = kNsPerSecond;

  // A cell of the table: the low half of the fingerprint's low word, and slot + 1 (0: empty). The
  // former also says where the cell wants to stand, so that moving cells touches no entry.
  using Cell = std::uint64_t;

  struct RecentRule {
    std::uint64_t serial = 0;
    BookedRule* rule = nullptr;
  };

  Entry& entry(Slot slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  Reckoning reckoning(Instant now) const;
  void put_over(BucketSlot& slot, const Hash128& id, BookedRule* rule, const limit::State& state,
                Instant now);
  bool put_in_table(const Hash128& id, BookedRule* rule, const limit::State& state, Instant now);
  void put_wide(Slot slot, BookedRule* rule, const limit::State& state);
  void erase_wide(Slot slot);
  void release_slot(BucketSlot& slot);
  void give_back(std::size_t count);
  void take_budget(const Hash128& id, Instant now);
  Slot insert(const Hash128& id, BookedRule* rule);
  void make_room(const Hash128& id, Instant now);
  bool evict_fullest(const Hash128& id, Instant now);
  Slot fullest_neighbour(const Hash128& id, Instant now) const;
  Verdict peek(const Entry& entry, Instant now) const;
  bool try_drop(limit::Timeline timeline, std::int64_t now);
  void remove(Slot slot);  // as erase(), but keeps its part of the budget
  Slot take_slot();
  void link(const Hash128& id, Slot slot);
  void unlink(const Hash128& id, Slot slot);
  void grow_table();
  void queue_up(Slot slot);
  void rebuild_queues();
  Slot open_entry(const Hash128& id, BookedRule* rule, Instant now);
  std::uint64_t open_log();
  void close_log(const Entry& entry);
  CallLog& log(const Entry& entry) { return *logs_[entry.state.word[0]]; }
  // Keeps the budget's count right over what `change` does to a log.
  template <typename Change>
  void change_log(CallLog& log, Change change);
  FreshQueue& queue(limit::Timeline timeline) {
    return queues_[static_cast<std::size_t>(timeline)];
  }

  Budget* budget_ = nullptr;
  const RuleBook* book_ = nullptr;
  const std::atomic<std::int64_t>* epoch_ = nullptr;
  SlotTable* table_ = nullptr;
  std::vector<Cell> cells_;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::array<FreshQueue, 2> queues_;  // by Timeline
  std::vector<std::unique_ptr<CallLog>> logs_;
  std::vector<std::uint64_t> free_logs_;
  std::array<RecentRule, kRecentRules> recent_rules_{};
  std::size_t live_ = 0;
  Slot slots_ = 0;     // ever used
  Slot free_ = kNone;  // the first of a chain through id.low
};

}  // namespace weir::store
