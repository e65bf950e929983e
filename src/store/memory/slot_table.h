// SlotTable: the token buckets of one shard whose state is one word: sixteen bytes a key.
//
//   slot    name    64 bits   [ tag: 51 | place: 12 | held: 1 ]   0: empty
//           arrival 64 bits   limit/narrow_bucket.h
//   line    4 slots, one cache line
//   group   4 lines: where a key may stand, in the line that it prefers if there is room
//
// A call that meets its key here takes from it without a lock: by one compare-and-swap of both
// words, or by a plain store where its thread is alone in the store. All else (keys that come, go,
// or are converted, requests that meet several counters, growth) happens under the shard's lock,
// which puts `held` into a name while it needs the slot for itself: the calls without a lock then
// go to the lock too. So no key can stand twice, and a call without a lock changes exactly what it
// read: a slot that was given to another key has another name.
//
// Grows by doubling, as used; keys move to the upper half by one more bit of their tag. The lines
// of all shards are one reservation of address space, in which the first groups of all shards lie
// together, then the second ones, then the next two of each, the next four, and so on. So a table
// never moves, and who reads it needs no protection from that; and since shards grow at about the
// same time, what is touched lies together, in huge pages where the system gives them (a check
// waits for memory once, and without them a second time for where that is).
//
// The chance that two of n live keys are taken for one (same shard, same tag) is below n^2 / 2^52 /
// shards: 2 in ten million for n = 10^6.
//
// THREADS: seek(), LineSpace::prefetch(), BucketSlot::charge() from any; BucketSlot::set() from who
// is alone in the store; all else under the shard's lock.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "base/siphash.h"
#include "base/wide.h"
#include "store/memory/fullness.h"
#include "store/memory/rule_book.h"

namespace weir::store {

#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
inline constexpr bool kSlotsOpen = true;
#else
inline constexpr bool kSlotsOpen = false;  // all keys live in the wide tables: same answers
#endif

struct alignas(16) BucketSlot {
  static constexpr std::uint64_t kHeld = 1;
  static constexpr unsigned kPlaceBits = 12;
  static constexpr unsigned kTagShift = kPlaceBits + 1;

  std::atomic<std::uint64_t> name;
  std::atomic<std::uint64_t> arrival;

  // `low`: of the key's fingerprint.
  static std::uint64_t name_of(std::uint64_t low, std::uint32_t place) {
    return (low >> kTagShift << kTagShift) | (std::uint64_t{place} << 1);
  }
  static std::uint32_t place_of(std::uint64_t name) {
    return static_cast<std::uint32_t>(name >> 1) & ((1u << kPlaceBits) - 1);
  }

  bool is(std::uint64_t its_name) const { return name.load(std::memory_order_acquire) == its_name; }

  // Replaces the arrival, if the slot is as it was read.
  bool charge(std::uint64_t its_name, std::uint64_t from, std::uint64_t to) {
#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
    __extension__ typedef unsigned __int128 __attribute__((may_alias)) Both;
    return __sync_bool_compare_and_swap(reinterpret_cast<Both*>(this), Wide{from} << 64 | its_name,
                                        Wide{to} << 64 | its_name);
#else
    (void)its_name, (void)from, (void)to;
    return false;
#endif
  }

  // The same for who is alone in the store.
  void set(std::uint64_t to) {
    arrival.store(to, std::memory_order_release);
  }

  // Whether the slot still is as it was read, the arrival after the name.
  bool reads(std::uint64_t its_name, std::uint64_t its_arrival) const {
    return arrival.load(std::memory_order_acquire) == its_arrival &&
           name.load(std::memory_order_acquire) == its_name;
  }

  // From here on nobody else writes the slot; its arrival stands still. REQUIRES: shard's lock.
  void hold() {
    name.fetch_or(kHeld, std::memory_order_acq_rel);
  }
  void release() {
    name.fetch_and(~kHeld, std::memory_order_acq_rel);
  }
  bool held() const {
    return (name.load(std::memory_order_relaxed) & kHeld) != 0;
  }
};

struct alignas(64) Line {
  static constexpr std::size_t kSlots = 4;
  std::array<BucketSlot, kSlots> slots;

  // Where `name` stands, if it is in this line; is() tells whether it is.
  // WHY by sums: nothing says which of the four it is, so that a branch would be predicted wrongly
  // every other time, which costs more than all the comparisons.
  BucketSlot& slot_of(std::uint64_t name) {
    return slots[std::size_t{slots[1].is(name)} + 2 * std::size_t{slots[2].is(name)} +
                 3 * std::size_t{slots[3].is(name)}];
  }
};

// The lines of all shards, in groups: address space, zero until touched. And how many groups each
// shard uses. WHY those here: a call without a lock finds its line by them, and side by side they
// are few enough bytes to stay in the cache.
class LineSpace {
 public:
  static constexpr std::size_t kLinesPerGroup = 4;

  // At most `groups` for each of `shards`, a power of two; or 0: for nobody.
  LineSpace(std::size_t shards, std::size_t groups);
  ~LineSpace();
  LineSpace(const LineSpace&) = delete;
  LineSpace& operator=(const LineSpace&) = delete;

  // What a shard may use: 0 also where the system gave no memory.
  std::size_t most_groups() const { return most_groups_; }
  // What a shard uses, less one.
  std::atomic<std::uint32_t>& mask(std::size_t shard) const { return masks_[shard]; }

  // Of the groups 2^n to 2^(n+1) - 1, the shards before have as many each, and all have 2^n before
  // these: (shards + shard) x 2^n + (group - 2^n).
  Line* group_at(std::size_t shard, std::size_t group) const {
    if (group == 0) return lines_ + shard * kLinesPerGroup;
    const int level = std::bit_width(group) - 1;
    return lines_ + (((shards_ + shard - 1) << level) + group) * kLinesPerGroup;
  }
  // Where the key of a name stands, in the line that it prefers if there is room.
  Line* group_of(std::size_t shard, std::uint64_t name) const {
    const std::uint32_t mask = masks_[shard].load(std::memory_order_acquire);
    return group_at(shard, (name >> BucketSlot::kTagShift) & mask);
  }
  static std::size_t preferred(std::uint64_t name) { return name >> 62; }

  // The line that a name prefers, on its way into the cache.
  Line* prefetch(std::size_t shard, std::uint64_t name) const {
    Line* const line = group_of(shard, name) + preferred(name);
    __builtin_prefetch(line, 1);
    return line;
  }

 private:
  bool map(std::size_t groups);

  Line* lines_ = nullptr;
  std::size_t shards_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> masks_;
  std::size_t most_groups_ = 0;
  std::size_t bytes_ = 0;
};

// What a table needs to know to say how full its buckets are.
struct Reckoning {
  const RuleBook* book = nullptr;
  std::int64_t epoch = 0;  // of all arrivals
  std::int64_t now = 0;    // steady
  // How long a key stays that is fresh, where no room is needed: patient() is as of so long ago.
  std::int64_t patience = 0;

  Reckoning patient() const { return {book, epoch, std::max(now - patience, epoch), 0}; }
};

class SlotTable {
 public:
  static constexpr std::size_t kLinesPerGroup = LineSpace::kLinesPerGroup;
  static constexpr std::size_t kSlotsPerGroup = kLinesPerGroup * Line::kSlots;

  // From here on this is the table of `shard`. REQUIRES: called once, before all else.
  void use(const LineSpace& space, std::size_t shard) {
    space_ = &space;
    shard_ = shard;
  }

  // The slot of `name` if it is there and nobody holds it. Where the table has grown since its
  // line was asked for, it may not be found though it is there.
  static BucketSlot* seek(Line* line, std::uint64_t name) {
    BucketSlot& slot = line->slot_of(name);
    return slot.is(name) ? &slot : seek_beyond(line, name);
  }

  // --- Under the shard's lock ---

  std::size_t groups() const { return mask() + 1; }
  // Grows to so many groups at once, or as many as there may be. REQUIRES: live() == 0.
  void start_with(std::size_t groups);

  // The slot of a key, whatever its rule; null where it is not here. WHY the latest answer is kept:
  // a request asks once to hold the key, once to write it, and once to let it go.
  BucketSlot* find(const Hash128& id) {
    if (!found_ || found_->low != id.low) found_ = Found{id.low, search(id)};
    return found_->slot;
  }

  // Takes a slot for a key that is not here, held; null where its group is full of keys that are
  // not fresh, and growing would not pay. `dropped` counts the fresh keys that made room.
  BucketSlot* insert(const Hash128& id, const BookedRule& rule, std::uint64_t arrival,
                     const Reckoning& reckoning, std::size_t& dropped);
  void overwrite(BucketSlot& slot, const BookedRule& rule, std::uint64_t arrival,
                 const Reckoning& reckoning);
  void clear(BucketSlot& slot);

  // Drops keys that equal fresh: those in the next few groups that have been so for long, or all.
  std::size_t sweep_some(const Reckoning& reckoning);
  std::size_t sweep_all(const Reckoning& reckoning);
  // Whether any key may equal fresh by now.
  bool any_due(std::int64_t now) const { return live_ > 0 && earliest_ <= now; }

  // The fullest of a key's neighbours, and how full it is; null where there are none.
  BucketSlot* fullest_neighbour(const Hash128& id, const Reckoning& reckoning,
                                Fullness& fullness) const;

  // Runs `visit(slot)` for each slot in use.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; live_ > 0 && i < groups(); ++i) {
      for_group(i, visit);
    }
  }

  std::size_t live() const { return live_; }

 private:
  static constexpr std::size_t kNeighbours = 16;

  struct Found {
    std::uint64_t low;  // of the key's fingerprint
    BucketSlot* slot;
  };

  BucketSlot* search(const Hash128& id) const;
  std::size_t mask() const { return space_->mask(shard_).load(std::memory_order_relaxed); }
  Line* group_at(std::size_t group) const { return space_->group_at(shard_, group); }
  // In the other lines of the group.
  static BucketSlot* seek_beyond(Line* line, std::uint64_t name);
  template <typename Visit>
  void for_group(std::size_t group, Visit visit) const {
    Line* const lines = group_at(group);
    for (std::size_t i = 0; i < kLinesPerGroup; ++i) {
      for (BucketSlot& slot : lines[i].slots) {
        if (slot.name.load(std::memory_order_relaxed) != 0) visit(slot);
      }
    }
  }
  BucketSlot* free_slot(std::uint64_t name) const;
  std::size_t sweep_group(std::size_t group, const Reckoning& reckoning);
  bool drop_if_fresh(BucketSlot& slot, const Reckoning& reckoning);
  bool grow();
  void note(std::int64_t fresh_at) { earliest_ = fresh_at < earliest_ ? fresh_at : earliest_; }

  const LineSpace* space_ = nullptr;
  std::size_t shard_ = 0;
  std::optional<Found> found_;
  std::uint32_t live_ = 0;
  std::uint32_t hand_ = 0;  // the group that is swept next
  // No key is fresh before: a charge only moves a key's moment on.
  std::int64_t earliest_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace weir::store
