#include "store/memory/slot_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace weir::store {
namespace {

// What is missing in a bucket, in ticks; at most all of it, where a clock had stepped back.
std::uint64_t debt_of(const limit::NarrowBucket& bucket, std::uint64_t arrival,
                      const Reckoning& reckoning) {
  return std::min(bucket.debt(arrival, reckoning.now - reckoning.epoch), bucket.capacity());
}

std::int64_t fresh_at(const BookedRule& rule, std::uint64_t arrival, const Reckoning& reckoning) {
  return rule.rule->fresh_at(rule.narrow->widen(arrival, reckoning.epoch));
}

}  // namespace

// WHY one group each where there are none to be used: calls without a lock read them all the same.
LineSpace::LineSpace(std::size_t shards, std::size_t groups)
    : shards_(shards), masks_(new std::atomic<std::uint32_t>[shards]()) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static_assert(sizeof(BucketSlot) == 16 && sizeof(Line) == 64);
  if (!map(groups) && !map(0)) throw std::bad_alloc();
}

bool LineSpace::map(std::size_t groups) {
  const std::size_t count = shards_ * std::max<std::size_t>(groups, 1);
  const std::size_t bytes = count * kLinesPerGroup * sizeof(Line);
  void* const space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  lines_ = static_cast<Line*>(space);
  most_groups_ = groups;
  bytes_ = bytes;
  madvise(space, bytes_, MADV_HUGEPAGE);  // where the system has none: the same, slower
  return true;
}

LineSpace::~LineSpace() {
  munmap(lines_, bytes_);
}

void SlotTable::start_with(std::size_t groups) {
  const std::size_t most = std::max<std::size_t>(space_->most_groups(), 1);
  const std::size_t count = std::bit_floor(std::clamp<std::size_t>(groups, 1, most));
  space_->mask(shard_).store(static_cast<std::uint32_t>(count - 1), std::memory_order_release);
}

BucketSlot* SlotTable::seek_beyond(Line* line, std::uint64_t name) {
  const std::size_t preferred = LineSpace::preferred(name);
  Line* const group = line - preferred;
  for (std::size_t i = 1; i < kLinesPerGroup; ++i) {
    BucketSlot& slot = group[(preferred + i) % kLinesPerGroup].slot_of(name);
    if (slot.is(name)) return &slot;
  }
  return nullptr;
}

BucketSlot* SlotTable::search(const Hash128& id) const {
  if (live_ == 0) return nullptr;
  const std::uint64_t tag = id.low >> BucketSlot::kTagShift;
  Line* const group = space_->group_of(shard_, id.low);
  for (std::size_t i = 0; i < kLinesPerGroup; ++i) {
    for (BucketSlot& slot : group[i].slots) {
      const std::uint64_t name = slot.name.load(std::memory_order_relaxed);
      if (name != 0 && name >> BucketSlot::kTagShift == tag) return &slot;
    }
  }
  return nullptr;
}

BucketSlot* SlotTable::insert(const Hash128& id, const BookedRule& rule, std::uint64_t arrival,
                              const Reckoning& reckoning, std::size_t& dropped) {
  if (space_->most_groups() == 0) return nullptr;
  const std::uint64_t name =
      BucketSlot::name_of(id.low, rule.place.load(std::memory_order_relaxed));
  BucketSlot* slot = free_slot(name);
  const auto sweep = [&](const Reckoning& at) {
    dropped += sweep_group((name >> BucketSlot::kTagShift) & (groups() - 1), at);
    slot = free_slot(name);
  };
  if (slot == nullptr) sweep(reckoning.patient());
  while (slot == nullptr && grow()) slot = free_slot(name);
  if (slot == nullptr) sweep(reckoning);
  if (slot == nullptr) return nullptr;
  slot->arrival.store(arrival, std::memory_order_relaxed);
  slot->name.store(name | BucketSlot::kHeld, std::memory_order_release);
  found_ = Found{id.low, slot};
  ++live_;
  note(fresh_at(rule, arrival, reckoning));
  return slot;
}

void SlotTable::overwrite(BucketSlot& slot, const BookedRule& rule, std::uint64_t arrival,
                          const Reckoning& reckoning) {
  const std::uint64_t name = slot.name.load(std::memory_order_relaxed);
  const std::uint64_t tag = name >> BucketSlot::kTagShift << BucketSlot::kTagShift;
  const std::uint64_t place = rule.place.load(std::memory_order_relaxed);
  slot.arrival.store(arrival, std::memory_order_release);
  slot.name.store(tag | place << 1 | BucketSlot::kHeld, std::memory_order_release);
  note(fresh_at(rule, arrival, reckoning));
}

void SlotTable::clear(BucketSlot& slot) {
  slot.hold();
  slot.name.store(0, std::memory_order_release);
  if (found_ && found_->slot == &slot) found_.reset();
  --live_;
}

// A whole turn of the hand takes a small table few inserts, so that the fresh never pile up.
std::size_t SlotTable::sweep_some(const Reckoning& reckoning) {
  const Reckoning at = reckoning.patient();
  if (!any_due(at.now)) return 0;
  const std::size_t count = groups();
  const std::size_t steps = count <= 64 ? std::max<std::size_t>(count / 8, 1) : 1;
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    hand_ = static_cast<std::uint32_t>((hand_ + 1) & (count - 1));
    dropped += sweep_group(hand_, at);
  }
  return dropped;
}

std::size_t SlotTable::sweep_all(const Reckoning& reckoning) {
  std::size_t dropped = 0;
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for_each([&](BucketSlot& slot) {
    if (drop_if_fresh(slot, reckoning)) {
      ++dropped;
      return;
    }
    const std::uint64_t name = slot.name.load(std::memory_order_relaxed);
    const std::uint64_t arrival = slot.arrival.load(std::memory_order_relaxed);
    earliest = std::min(earliest, fresh_at(*reckoning.book->placed(BucketSlot::place_of(name)),
                                           arrival, reckoning));
  });
  earliest_ = earliest;
  return dropped;
}

BucketSlot* SlotTable::fullest_neighbour(const Hash128& id, const Reckoning& reckoning,
                                         Fullness& best_fullness) const {
  constexpr std::size_t kGroupsToSee = 64;  // then the first found is good enough
  BucketSlot* best = nullptr;
  std::size_t seen = 0;
  const std::size_t last = mask();
  const std::size_t first = (id.low >> BucketSlot::kTagShift) & last;
  for (std::size_t i = 0; live_ > 0 && i <= last && seen < kNeighbours; ++i) {
    if (i >= kGroupsToSee && best != nullptr) break;
    for_group((first + i) & last, [&](BucketSlot& slot) {
      if (slot.held()) return;
      ++seen;
      const BookedRule& rule = *reckoning.book->placed(BucketSlot::place_of(slot.name));
      const limit::NarrowBucket& bucket = *rule.narrow;
      const std::uint64_t debt = debt_of(bucket, slot.arrival, reckoning);
      const Fullness candidate{bucket.remaining(debt), bucket.quota(), bucket.ns_for(debt)};
      if (best != nullptr && !candidate.fuller_than(best_fullness)) return;
      best = &slot;
      best_fullness = candidate;
    });
  }
  return best;
}

BucketSlot* SlotTable::free_slot(std::uint64_t name) const {
  const std::size_t preferred = LineSpace::preferred(name);
  Line* const group = space_->group_of(shard_, name);
  for (std::size_t i = 0; i < kLinesPerGroup; ++i) {
    for (BucketSlot& slot : group[(preferred + i) % kLinesPerGroup].slots) {
      if (slot.name.load(std::memory_order_relaxed) == 0) return &slot;
    }
  }
  return nullptr;
}

std::size_t SlotTable::sweep_group(std::size_t group, const Reckoning& reckoning) {
  std::size_t dropped = 0;
  for_group(group, [&](BucketSlot& slot) { dropped += drop_if_fresh(slot, reckoning) ? 1 : 0; });
  return dropped;
}

// WHY looked at twice: a call without a lock may charge the key until the slot is held.
bool SlotTable::drop_if_fresh(BucketSlot& slot, const Reckoning& reckoning) {
  if (slot.held()) return false;
  BookedRule& rule =
      *reckoning.book->placed(BucketSlot::place_of(slot.name.load(std::memory_order_relaxed)));
  if (debt_of(*rule.narrow, slot.arrival.load(std::memory_order_relaxed), reckoning) > 0) {
    return false;
  }
  slot.hold();
  if (debt_of(*rule.narrow, slot.arrival.load(std::memory_order_relaxed), reckoning) > 0) {
    slot.release();
    return false;
  }
  clear(slot);
  rule.release();
  return true;
}

// Doubles, where enough of the table is in use; a group that is full by bad luck is no reason.
bool SlotTable::grow() {
  const std::size_t count = groups();
  if (count >= space_->most_groups() || live_ * 8 < count * kSlotsPerGroup * 3) return false;
  found_.reset();
  for (std::size_t i = 0; i < count * kLinesPerGroup; ++i) {
    Line& lower = group_at(i / kLinesPerGroup)[i % kLinesPerGroup];
    Line& upper = group_at(i / kLinesPerGroup + count)[i % kLinesPerGroup];
    for (std::size_t j = 0; j < Line::kSlots; ++j) {
      BucketSlot& from = lower.slots[j];
      const std::uint64_t seen = from.name.load(std::memory_order_relaxed);
      if (((seen >> BucketSlot::kTagShift) & count) == 0) continue;
      from.hold();
      BucketSlot& to = upper.slots[j];
      to.arrival.store(from.arrival.load(std::memory_order_relaxed), std::memory_order_relaxed);
      to.name.store(seen, std::memory_order_release);
      from.name.store(0, std::memory_order_release);
    }
  }
  space_->mask(shard_).store(static_cast<std::uint32_t>(2 * count - 1), std::memory_order_release);
  return true;
}

}  // namespace weir::store
