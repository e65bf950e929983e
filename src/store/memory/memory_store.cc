#include "store/memory/memory_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include <boost/container/small_vector.hpp>

#include "base/check.h"

namespace weir::store {
namespace {

constexpr std::size_t kKeysPerShard = 4096;
constexpr std::size_t kMarksPerKey = 4;

// Slots for twice the keys at least, so that few groups of a slot table are full by bad luck.
std::size_t groups_per_shard(std::size_t max_keys, std::size_t shards) {
  if (!kSlotsOpen) return 0;
  return std::bit_ceil(
      std::max<std::size_t>(2 * max_keys / (shards * SlotTable::kSlotsPerGroup), 1));
}

// The locks of a request's shards, taken in ascending order, so that no two requests can wait for
// each other.
class ShardLocks {
 public:
  ~ShardLocks() {
    for (std::size_t i = count_; i > 0; --i) shards_[i - 1]->mutex.unlock();
  }
  ShardLocks() = default;
  ShardLocks(const ShardLocks&) = delete;
  ShardLocks& operator=(const ShardLocks&) = delete;

  void want(Shard& shard) { shards_[wanted_++] = &shard; }

  void lock() {
    const auto end = shards_.begin() + static_cast<std::ptrdiff_t>(wanted_);
    std::sort(shards_.begin(), end);
    wanted_ = static_cast<std::size_t>(std::unique(shards_.begin(), end) - shards_.begin());
    for (; count_ < wanted_; ++count_) shards_[count_]->mutex.lock();
  }

 private:
  std::array<Shard*, kMaxCharges> shards_;
  std::size_t wanted_ = 0;
  std::size_t count_ = 0;  // locked
};

}  // namespace

// One counter of a request: where it is, what it holds, what the call would make of it.
struct MemoryStore::Place {
  Hash128 id;
  Shard* shard = nullptr;
  Shard::Slot slot = Shard::kNone;
  BookedRule* rule = nullptr;
  const BookedRule* written = nullptr;  // the numbers it was last written under; null: not here
  std::optional<limit::State> state;
  limit::Step step;
  limit::LogStep log_step;  // instead, where the rule keeps a log
};

// One request, with its shards locked from construction to destruction.
class MemoryStore::Request {
 public:
  Request(MemoryStore& store, std::span<const Charge> charges) : charges_(charges) {
    for (const Charge& charge : charges) {
      Place& place = places_.emplace_back();
      place.id = store.fingerprint(charge);
      place.shard = &store.shard_of(place.id);
      locks_.want(*place.shard);
    }
    locks_.lock();
    for (Place& place : places_) find(place);
    // WHY after the counters stand still: until then, calls without a lock move them on by later
    // moments than one read before. Such a counter would look as if a clock had stepped back, and
    // be cut to what this moment can reach: a call too many.
    now_ = store.time_.now();
    for (std::size_t i = 0; i < charges.size(); ++i) adopt(store.book_, i);
  }

  ~Request() {
    for (const Place& place : places_) place.shard->let_go(place.id);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Instant now() const { return now_; }

  bool decide(std::size_t i) {
    Place& place = places_[i];
    if (rule(i).keeps_log()) {
      place.log_step = rule(i).decide(log(i), charges_[i].cost, now_);
      return place.log_step.verdict.allowed();
    }
    place.step = rule(i).decide(state(i), charges_[i].cost, now_);
    return place.step.verdict.allowed();
  }

  // What the call was answered, and its state written where the step says so.
  Verdict commit(std::size_t i) {
    const Place& place = places_[i];
    if (rule(i).keeps_log()) {
      const limit::LogStep& step = place.log_step;
      if (step.charge || step.clamp) {
        place.shard->put_log(place.slot, place.id, place.rule, step, charges_[i].cost, now_);
      }
      return step.verdict;
    }
    if (place.step.write) write(i, place.step.next);
    return place.step.verdict;
  }

  // Whether the counter was not there, and the call is one that makes it.
  bool is_new(std::size_t i) const { return places_[i].written == nullptr && charges_[i].cost > 0; }
  const Hash128& id(std::size_t i) const { return places_[i].id; }

  // What the call would be answered alone, though it is not charged.
  Verdict leave(std::size_t i) {
    const Place& place = places_[i];
    if (rule(i).keeps_log()) {
      if (!place.log_step.verdict.allowed()) return commit(i);
      return rule(i).decide(log(i), 0, now_).verdict;
    }
    if (!place.step.verdict.allowed()) return commit(i);
    return rule(i).decide(state(i), 0, now_).verdict;
  }

  // Does to the counter what its charge says; whether calls in flight were found there.
  bool correct(std::size_t i) {
    switch (charges_[i].change) {
      case Change::kGiveBack:
        return give_back(i) && is_flight(i);
      case Change::kTake:
        overdraw(i);
        return false;
      case Change::kRenew:
        return is_flight(i) && renew(i);
    }
    return false;
  }

  void erase(std::size_t i) {
    Place& place = places_[i];
    place.shard->erase(place.slot, place.id);
    place.slot = Shard::kNone;
    place.state.reset();
  }

 private:
  const limit::Rule& rule(std::size_t i) const { return *charges_[i].rule; }
  bool is_flight(std::size_t i) const {
    return algorithm_of(rule(i).numbers()) == Algorithm::kConcurrency;
  }
  std::optional<std::int64_t> charged_ns(std::size_t i) const {
    return limit::read(rule(i).timeline(), charges_[i].charged_at);
  }

  // Whether anything was there to be given back.
  bool give_back(std::size_t i) {
    const Place& place = places_[i];
    const Charge& charge = charges_[i];
    if (!place.state) return false;
    if (rule(i).keeps_log()) {
      return place.shard->take_out(place.slot, charge.cost, charged_ns(i), now_) > 0;
    }
    const auto rest = rule(i).refund(*place.state, charge.cost, now_, charge.charged_at);
    rest ? write(i, *rest) : erase(i);
    return true;
  }

  void overdraw(std::size_t i) {
    const Place& place = places_[i];
    const Charge& charge = charges_[i];
    if (charge.cost == 0) return;
    if (!rule(i).keeps_log()) {
      const auto next = rule(i).overdraw(state(i), charge.cost, now_, charge.charged_at);
      if (next) write(i, *next);
      return;
    }
    const std::int64_t now = limit::read(rule(i).timeline(), now_);
    const std::int64_t at = std::min(charged_ns(i).value_or(now), now);
    if (rule(i).fresh_at(limit::State{{0, static_cast<std::uint64_t>(at), 0}}) <= now) return;
    place.shard->put_in(place.slot, place.id, place.rule, at, charge.cost, now_);
  }

  // Calls that left at their timeout, or were released, stay so.
  bool renew(std::size_t i) {
    const Place& place = places_[i];
    if (!place.state) return false;
    const std::uint64_t found =
        place.shard->take_out(place.slot, charges_[i].cost, charged_ns(i), now_);
    if (found == 0) return false;
    limit::LogStep step = rule(i).decide(log(i), 0, now_);
    step.charge = step.clamp = true;
    place.shard->put_log(place.slot, place.id, place.rule, step, found, now_);
    return true;
  }
  const limit::State* state(std::size_t i) const {
    return places_[i].state ? &*places_[i].state : nullptr;
  }
  limit::LogView log(std::size_t i) const {
    const Place& place = places_[i];
    if (!place.state || !place.shard->holds(place.slot, place.id)) return {};
    return place.shard->log_of(place.shard->at(place.slot));
  }
  void write(std::size_t i, const limit::State& state) {
    const Place& place = places_[i];
    place.shard->put(place.slot, place.id, place.rule, state, now_);
  }

  // Finds the counter, which stands still from here on.
  static void find(Place& place) {
    if (const auto held = place.shard->hold(place.id)) {
      place.written = held->rule;
      place.state = held->state;
      return;
    }
    place.slot = place.shard->find(place.id);
    if (place.slot == Shard::kNone) return;
    const Entry& entry = place.shard->at(place.slot);
    place.written = entry.rule;
    place.state = entry.state;
  }

  // Converts a counter that was written under other numbers: at its first use, and a peek is none.
  void adopt(RuleBook& book, std::size_t i) {
    Place& place = places_[i];
    place.rule = place.shard->booked(rule(i), book);
    if (place.written == nullptr || place.written == place.rule) return;
    place.state = rule(i).adopt(*place.written->rule, *place.state, now_);
    if (charges_[i].cost == 0) return;
    if (place.state) return write(i, *place.state);
    erase(i);
  }

  std::span<const Charge> charges_;
  ShardLocks locks_;
  Instant now_;
  boost::container::small_vector<Place, 4> places_;
};

MemoryStore::MemoryStore(const MemoryOptions& options)
    : hash_(random_sip_key()),
      budget_(std::clamp<std::size_t>(options.max_keys, 1, kMostKeys),
              options.max_marks != 0 ? options.max_marks : kMarksPerKey * options.max_keys),
      once_(options.max_once) {
  const std::size_t most = budget_.max_entries / kKeysPerShard;
  lay_out(std::bit_floor(std::clamp<std::size_t>(most, 1, kMostShards)));
}

void MemoryStore::lay_out(std::size_t shards) {
  shard_mask_ = shards - 1;
  std::size_t groups = groups_per_shard(budget_.max_entries, shards);
  lines_.emplace(shards * groups * SlotTable::kLinesPerGroup);
  if (lines_->lines() == nullptr) groups = 0;
  tables_ = std::make_unique<SlotTable[]>(shards);
  shards_ = std::make_unique<Shard[]>(shards);
  for (std::size_t i = 0; i < shards; ++i) {
    Line* const first =
        groups > 0 ? lines_->lines() + i * groups * SlotTable::kLinesPerGroup : nullptr;
    tables_[i].use(first, groups);
    shards_[i].use({budget_, book_, epoch_}, tables_[i]);
  }
}

void MemoryStore::charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                         Done done) {
  done(charge_now(charges, now, answers));
}

Admission MemoryStore::charge_now(std::span<const Charge> charges, Instant now,
                                  std::span<Answer> answers) {
  WEIR_CHECK(charges.size() == answers.size() && charges.size() <= kMaxCharges,
             "a request meets at most 64 counters, with room for an answer to each");
  see(now);
  if (charges.size() != 1) return charge_locked(charges, answers);
  const Charge& charge = charges[0];
  const auto rule = QuickRule::of(*charge.rule);
  const auto touched = rule ? touch(fingerprint(charge), *rule, charge.cost) : std::nullopt;
  if (!touched) return charge_locked(charges, answers);
  answers[0] = Answer{rule->bucket.verdict(touched->step, charge.cost)};
  return Admission{touched->step.admitted || charge.shadow, at(*touched)};
}

Admission MemoryStore::charge_locked(std::span<const Charge> charges, std::span<Answer> answers) {
  if (book_.wants_reclaim()) reclaim_rules();
  start_epoch();
  Request request(*this, charges);
  bool admitted = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool admits = request.decide(i);
    if (!charges[i].shadow) admitted = admitted && admits;
  }
  for (std::size_t i = 0; i < charges.size(); ++i) {
    answers[i] = Answer{admitted ? request.commit(i) : request.leave(i)};
    if (admitted && answers[i].verdict.allowed() && request.is_new(i)) {
      sample_.add(request.id(i), charges[i].counter);
    }
  }
  return Admission{admitted, request.now()};
}

void MemoryStore::correct(std::span<const Charge> charges, const std::optional<Once>& once,
                          Instant now, Corrected told) {
  WEIR_CHECK(charges.size() <= kMaxCharges, "a request meets at most 64 counters");
  time_.raise(now);
  const Correction correction = correct_now(charges, once);
  if (told) told(correction);
}

// WHY the mark before the change: nobody else makes the change then, and if both cannot be seen at
// once, it is the use that shows first.
Correction MemoryStore::correct_now(std::span<const Charge> charges,
                                    const std::optional<Once>& once) {
  using Outcome = Correction::Outcome;
  if (once) {
    const auto use = once_.use(once->serial, once->until.steady_ns, time_.now().steady_ns);
    if (use == OnceBook::Use::kAgain) return {.outcome = Outcome::kSpent};
    if (use == OnceBook::Use::kTooLate) return {.outcome = Outcome::kTooLate};
  }
  start_epoch();
  Request request(*this, charges);
  Correction correction;
  correction.at = request.now();
  for (std::size_t i = 0; i < charges.size(); ++i) correction.found += request.correct(i) ? 1 : 0;
  return correction;
}

void MemoryStore::reset(std::span<const Charge> charges) {
  WEIR_CHECK(charges.size() <= kMaxCharges, "a request meets at most 64 counters");
  Request request(*this, charges);
  for (std::size_t i = 0; i < charges.size(); ++i) request.erase(i);
}

std::size_t MemoryStore::sweep(Instant now) {
  time_.raise(now);
  std::size_t dropped = 0;
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    dropped += shards_[i].drop_fresh(time_.now(), Shard::kAll);
  }
  return dropped;
}

std::map<std::string, std::uint64_t> MemoryStore::keys_by_counter() {
  return sample_.count([this](const Hash128& id) {
    const std::lock_guard lock(shard_of(id).mutex);
    return table_of(id).find(id) != nullptr || shard_of(id).find(id) != Shard::kNone;
  });
}

std::size_t MemoryStore::keys_in_slots() {
  std::size_t count = 0;
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    count += tables_[i].live();
  }
  return count;
}

// The first call of all sets it, before it writes anything.
void MemoryStore::start_epoch() {
  if (epoch_.load(std::memory_order_relaxed) != kNoEpoch) return;
  std::int64_t none = kNoEpoch;
  epoch_.compare_exchange_strong(none, time_.now().steady_ns);
}

void MemoryStore::reclaim_rules() {
  constexpr std::size_t kTooMany = 2048;
  std::unique_lock one(reclaiming_, std::try_to_lock);
  // WHY wait: whoever reclaims may not be running, while others bring rules without end.
  if (!one && book_.size() > kTooMany) one.lock();
  if (!one || !book_.wants_reclaim()) return;
  book_.begin_reclaim();
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].forget_booked();
  }
  book_.end_reclaim();
}

}  // namespace weir::store
