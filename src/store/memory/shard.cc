#include "store/memory/shard.h"

#include <algorithm>
#include <optional>

namespace weir::store {
namespace {

constexpr std::uint64_t kTagMask = 0xffffffff00000000;

std::uint64_t tag_of(const Hash128& id) {
  return id.low << 32;
}
std::size_t home(std::uint64_t cell, std::size_t mask) {
  return (cell >> 32) & mask;
}

}  // namespace

Shard::Slot Shard::find(const Hash128& id) const {
  if (cells_.empty()) return kNone;
  const std::size_t mask = cells_.size() - 1;
  const std::uint64_t tag = tag_of(id);
  for (std::size_t i = home(tag, mask); cells_[i] != 0; i = (i + 1) & mask) {
    if ((cells_[i] & kTagMask) != tag) continue;
    const auto slot = static_cast<Slot>(cells_[i] - 1);
    if (at(slot).id == id) return slot;
  }
  return kNone;
}

std::optional<Shard::Held> Shard::hold(const Hash128& id) {
  BucketSlot* const slot = table_->find(id);
  if (slot == nullptr) return std::nullopt;
  slot->hold();
  BookedRule* const rule = book_->placed(BucketSlot::place_of(slot->name));
  return Held{rule, rule->narrow->widen(slot->arrival, reckoning({}).epoch)};
}

void Shard::let_go(const Hash128& id) {
  BucketSlot* const slot = table_->find(id);
  if (slot != nullptr) slot->release();
}

Reckoning Shard::reckoning(Instant now) const {
  return {book_, epoch_->load(std::memory_order_relaxed),
          limit::read(limit::Timeline::kSteady, now), budget_->scarce() ? 0 : kPatienceNs};
}

void Shard::put(Slot slot, const Hash128& id, BookedRule* rule, const limit::State& state,
                Instant now) {
  if (BucketSlot* const here = table_->find(id)) return put_over(*here, id, rule, state, now);
  if (!holds(slot, id)) slot = find(id);
  if (slot == kNone && rule->rule->keeps_log()) return;
  if (slot == kNone) take_budget(id, now);
  if (put_in_table(id, rule, state, now)) {
    if (slot != kNone) remove(slot);
    return;
  }
  if (slot != kNone) return put_wide(slot, rule, state);
  slot = insert(id, rule);
  entry(slot).state = state;
  queue_up(slot);
}

void Shard::put_over(BucketSlot& slot, const Hash128& id, BookedRule* rule,
                     const limit::State& state, Instant now) {
  const Reckoning at = reckoning(now);
  const limit::NarrowBucket* const bucket = rule->placed();
  std::optional<std::uint64_t> arrival;
  if (bucket != nullptr) arrival = bucket->narrow(state, at.epoch);
  if (arrival) {
    rule->hold();
    book_->placed(BucketSlot::place_of(slot.name))->release();
    return table_->overwrite(slot, *rule, *arrival, at);
  }
  release_slot(slot);
  const Slot wide = insert(id, rule);
  entry(wide).state = state;
  queue_up(wide);
}

// The caller has its part of the budget.
bool Shard::put_in_table(const Hash128& id, BookedRule* rule, const limit::State& state,
                         Instant now) {
  const limit::NarrowBucket* const bucket = rule->placed();
  if (bucket == nullptr) return false;
  const Reckoning at = reckoning(now);
  const auto arrival = bucket->narrow(state, at.epoch);
  if (!arrival) return false;
  std::size_t dropped = 0;
  const bool put = table_->insert(id, *rule, *arrival, at, dropped) != nullptr;
  give_back(dropped);
  if (put) rule->hold();
  return put;
}

bool Shard::restore_bucket(const Hash128& id, BookedRule* rule, const limit::State& state,
                           Instant now) {
  if (table_->find(id) != nullptr || !budget_->take()) return false;
  if (!put_in_table(id, rule, state, now)) {
    budget_->give_back();
    return false;
  }
  let_go(id);
  return true;
}

void Shard::put_wide(Slot slot, BookedRule* rule, const limit::State& state) {
  Entry& old = entry(slot);
  const bool same_rule = old.rule == rule;
  const bool sooner = !same_rule || rule->rule->fresh_at(state) < rule->rule->fresh_at(old.state);
  if (!same_rule) {
    old.rule->release();
    rule->hold();
    old.rule = rule;
  }
  old.state = state;
  if (sooner) queue_up(slot);
}

void Shard::erase(Slot slot, const Hash128& id) {
  if (BucketSlot* const here = table_->find(id)) {
    release_slot(*here);
    return give_back(1);
  }
  if (!holds(slot, id)) slot = find(id);
  if (slot != kNone) erase_wide(slot);
}

void Shard::erase_wide(Slot slot) {
  remove(slot);
  give_back(1);
}

void Shard::give_back(std::size_t count) {
  for (; count > 0; --count) budget_->give_back();
}

// Empties a slot, whose part of the budget the caller takes over.
void Shard::release_slot(BucketSlot& slot) {
  BookedRule* const rule = book_->placed(BucketSlot::place_of(slot.name));
  table_->clear(slot);
  rule->release();
}

// A new entry with an empty log.
Shard::Slot Shard::open_entry(const Hash128& id, BookedRule* rule, Instant now) {
  take_budget(id, now);
  const Slot slot = insert(id, rule);
  entry(slot).state.word[0] = open_log();
  return slot;
}

void Shard::put_log(Slot slot, const Hash128& id, BookedRule* rule, limit::LogStep step,
                    std::uint64_t cost, Instant now) {
  if (!holds(slot, id)) slot = find(id);
  const bool made = slot == kNone;
  if (made) {
    slot = open_entry(id, rule, now);
    step.expired = 0;  // what the step saw expire went with a log that equalled fresh
  }
  Entry& target = entry(slot);
  change_log(log(target), [&](CallLog& calls) { calls.apply(step, cost); });
  target.state.word[1] = static_cast<std::uint64_t>(log(target).newest());
  if (made || step.clamp) queue_up(slot);
}

std::uint64_t Shard::take_out(Slot slot, const Hash128& id, std::uint64_t cost,
                              std::optional<std::int64_t> charged_at, Instant now) {
  if (!holds(slot, id)) slot = find(id);
  if (slot == kNone) return 0;
  Entry& target = entry(slot);
  const limit::Rule& rule = *target.rule->rule;
  CallLog::Refund refund{cost, charged_at};
  refund.expired = rule.decide(log_of(target), 0, now).expired;
  if (algorithm_of(rule.numbers()) == Algorithm::kConcurrency) {
    refund.order = CallLog::Unknown::kOldest;
  }
  std::uint64_t taken = 0;
  change_log(log(target), [&](CallLog& calls) { taken = calls.take_out(refund); });
  if (log(target).size() == 0) {
    erase_wide(slot);
    return taken;
  }
  target.state.word[1] = static_cast<std::uint64_t>(log(target).newest());
  queue_up(slot);
  return taken;
}

void Shard::put_in(Slot slot, const Hash128& id, BookedRule* rule, std::int64_t at,
                   std::uint64_t cost, Instant now) {
  if (!holds(slot, id)) slot = find(id);
  const bool made = slot == kNone;
  if (made) slot = open_entry(id, rule, now);
  Entry& target = entry(slot);
  change_log(log(target), [&](CallLog& calls) { calls.put_in(at, cost); });
  target.state.word[1] = static_cast<std::uint64_t>(log(target).newest());
  if (made) queue_up(slot);
}

BookedRule* Shard::booked(const limit::Rule& rule, RuleBook& book) {
  RecentRule& recent = recent_rules_[rule.serial() % kRecentRules];
  if (recent.serial != rule.serial()) recent = RecentRule{rule.serial(), book.intern(rule)};
  book.note_use(rule, *recent.rule);
  return recent.rule;
}

void Shard::take_budget(const Hash128& id, Instant now) {
  constexpr std::size_t kDropAtInsert = 2;  // more than come in, so that the fresh never pile up
  drop_fresh(now, kDropAtInsert);
  if (!budget_->take()) make_room(id, now);
}

// The caller has its part of the budget.
Shard::Slot Shard::insert(const Hash128& id, BookedRule* rule) {
  const Slot slot = take_slot();
  Entry& made = entry(slot);
  made.id = id;
  made.rule = rule;
  rule->hold();
  ++live_;
  link(id, slot);
  return slot;
}

void Shard::remove(Slot slot) {
  Entry& gone = entry(slot);
  if (gone.rule->rule->keeps_log()) close_log(gone);
  unlink(gone.id, slot);
  gone.rule->release();
  gone.rule = nullptr;
  gone.id.low = free_;
  free_ = slot;
  --live_;
}

Shard::Slot Shard::take_slot() {
  if (free_ != kNone) {
    const Slot slot = free_;
    free_ = static_cast<Slot>(at(slot).id.low);
    return slot;
  }
  if (slots_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<Entry[]>(kChunk));
  return slots_++;
}

void Shard::link(const Hash128& id, Slot slot) {
  if (live_ * 4 > cells_.size() * 3) grow_table();
  const std::size_t mask = cells_.size() - 1;
  std::size_t i = home(tag_of(id), mask);
  while (cells_[i] != 0) i = (i + 1) & mask;
  cells_[i] = tag_of(id) | (slot + 1);
}

// Closes the gap by moving back the cells that stood further on because of it.
void Shard::unlink(const Hash128& id, Slot slot) {
  const std::size_t mask = cells_.size() - 1;
  const Cell cell = tag_of(id) | (slot + 1);
  std::size_t gap = home(cell, mask);
  while (cells_[gap] != cell) gap = (gap + 1) & mask;
  for (std::size_t i = (gap + 1) & mask; cells_[i] != 0; i = (i + 1) & mask) {
    const std::size_t wanted_distance = (i - home(cells_[i], mask)) & mask;
    if (wanted_distance < ((i - gap) & mask)) continue;
    cells_[gap] = cells_[i];
    gap = i;
  }
  cells_[gap] = 0;
}

void Shard::grow_table() {
  constexpr std::size_t kFirstCells = 16;
  std::vector<Cell> old(std::max(kFirstCells, cells_.size() * 2), 0);
  old.swap(cells_);
  const std::size_t mask = cells_.size() - 1;
  for (const Cell cell : old) {
    if (cell == 0) continue;
    std::size_t i = home(cell, mask);
    while (cells_[i] != 0) i = (i + 1) & mask;
    cells_[i] = cell;
  }
}

void Shard::queue_up(Slot slot) {
  const limit::Rule& rule = *at(slot).rule->rule;
  queue(rule.timeline()).push({rule.fresh_at(at(slot).state), slot});
  if (queues_[0].size() + queues_[1].size() > 2 * live_ + kChunk) rebuild_queues();
}

// Refunds, resets and evictions leave items behind; this leaves one for each entry.
void Shard::rebuild_queues() {
  for (FreshQueue& waiting : queues_) waiting.clear();
  for (Slot slot = 0; slot < slots_; ++slot) {
    if (at(slot).rule == nullptr) continue;
    const limit::Rule& rule = *at(slot).rule->rule;
    queue(rule.timeline()).push({rule.fresh_at(at(slot).state), slot});
  }
}

std::uint64_t Shard::open_log() {
  if (free_logs_.empty()) {
    free_logs_.push_back(logs_.size());
    logs_.emplace_back();
  }
  const std::uint64_t number = free_logs_.back();
  free_logs_.pop_back();
  logs_[number] = std::make_unique<CallLog>();
  return number;
}

void Shard::close_log(const Entry& entry) {
  const std::uint64_t number = entry.state.word[0];
  budget_->marks.fetch_sub(logs_[number]->size(), std::memory_order_relaxed);
  logs_[number].reset();
  free_logs_.push_back(number);
}

// A log may always hold two marks; beyond that, a store without room for more joins the oldest two.
template <typename Change>
void Shard::change_log(CallLog& log, Change change) {
  const std::size_t before = log.size();
  change(log);
  const std::size_t grown = log.size() - before;  // modulo 2^64
  const std::size_t marks = budget_->marks.fetch_add(grown, std::memory_order_relaxed) + grown;
  if (log.size() <= before || marks <= budget_->max_marks || !log.join_oldest()) return;
  budget_->marks.fetch_sub(1, std::memory_order_relaxed);
  budget_->joined_marks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir::store
