#include "store/memory/slot_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

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

LineSpace::LineSpace(std::size_t shards, std::size_t groups)
    : bytes_(shards * groups * SlotTable::kLinesPerGroup * sizeof(Line)) {
  if (bytes_ == 0) return;
  void* const space = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return;
  lines_ = static_cast<Line*>(space);
  madvise(space, bytes_, MADV_HUGEPAGE);  // where the system has none: the same, slower
}

LineSpace::~LineSpace() {
  if (lines_ != nullptr) munmap(lines_, bytes_);
}

void SlotTable::use(const Part& part) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static_assert(sizeof(BucketSlot) == 16 && sizeof(Line) == 64);
  // A table that holds nothing is still read, by calls without a lock.
  static std::array<Line, kLinesPerGroup> nothing{};
  lines_ = part.lines;
  first_ = part.most_groups > 0 ? part.lines + part.number * kLinesPerGroup : nothing.data();
  stride_ = part.shards + part.number - 1;
  most_groups_ = static_cast<std::uint32_t>(part.most_groups);
}

void SlotTable::start_with(std::size_t groups) {
  const std::size_t count = std::clamp<std::size_t>(groups, 1, std::max(most_groups_, 1u));
  mask_.store(static_cast<std::uint32_t>(std::bit_floor(count) - 1), std::memory_order_release);
}

BucketSlot* SlotTable::seek_beyond(Line* line, std::uint64_t name) {
  Line* const group = line - preferred(name);
  for (std::size_t i = 1; i < kLinesPerGroup; ++i) {
    BucketSlot& slot = group[(preferred(name) + i) % kLinesPerGroup].slot_of(name);
    if (slot.is(name)) return &slot;
  }
  return nullptr;
}

BucketSlot* SlotTable::find(const Hash128& id) const {
  if (live_ == 0) return nullptr;
  const std::uint64_t tag = id.low >> BucketSlot::kTagShift;
  Line* const group = group_of(id.low, mask_.load(std::memory_order_relaxed));
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
  if (most_groups_ == 0) return nullptr;
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
  --live_;
}

// A whole turn of the hand takes a small table few inserts, so that the fresh never pile up.
std::size_t SlotTable::sweep_some(const Reckoning& reckoning) {
  if (live_ == 0) return 0;
  const Reckoning at = reckoning.patient();
  const std::size_t count = groups();
  const std::size_t steps = count <= 64 ? std::max<std::size_t>(count / 8, 2) : 2;
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
  const std::size_t mask = groups() - 1;
  const std::size_t first = (id.low >> BucketSlot::kTagShift) & mask;
  for (std::size_t i = 0; live_ > 0 && i <= mask && seen < kNeighbours; ++i) {
    if (i >= kGroupsToSee && best != nullptr) break;
    for_group((first + i) & mask, [&](BucketSlot& slot) {
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
  Line* const group = group_of(name, mask_.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < kLinesPerGroup; ++i) {
    for (BucketSlot& slot : group[(preferred(name) + i) % kLinesPerGroup].slots) {
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
  if (count >= most_groups_ || live_ * 8 < count * kSlotsPerGroup * 3) return false;
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
  mask_.store(static_cast<std::uint32_t>(2 * count - 1), std::memory_order_release);
  return true;
}

}  // namespace weir::store
