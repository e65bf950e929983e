#include "store/memory/memory_store.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/check.h"
#include "store/memory/request.h"

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

}  // namespace

MemoryStore::MemoryStore(const MemoryOptions& options)
    : hash_(random_sip_key()),
      budget_(std::clamp<std::size_t>(options.max_keys, 1, kMaxKeys),
              options.max_marks != 0 ? options.max_marks : kMarksPerKey * options.max_keys),
      once_(options.max_once) {
  Bias::available();  // so that the first call need not wait for the kernel
  const std::size_t most = budget_.max_entries / kKeysPerShard;
  lay_out(std::bit_floor(std::clamp<std::size_t>(most, 1, kMaxShards)));
}

void MemoryStore::lay_out(std::size_t shards) {
  shard_mask_ = shards - 1;
  lines_.emplace(shards, groups_per_shard(budget_.max_entries, shards));
  tables_ = std::make_unique<SlotTable[]>(shards);
  shards_ = std::make_unique<Shard[]>(shards);
  for (std::size_t i = 0; i < shards; ++i) {
    tables_[i].use(*lines_, i);
    shards_[i].use({budget_, book_, epoch_}, tables_[i]);
  }
}

void MemoryStore::charge(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                         Done done) {
  done(charge_now(charges, now, answers));
}

Admission MemoryStore::charge_now(std::span<const Charge> charges, Instant now,
                                  std::span<Answer> answers, Takeovers takeovers) {
  WEIR_CHECK(charges.size() == answers.size() && charges.size() <= kMaxCharges,
             "a request meets at most 64 counters, with room for an answer to each");
  const Visit visit(*this, now);
  if (charges.size() != 1) return charge_locked(charges, answers, takeovers);
  const Charge& charge = charges[0];
  const auto rule = QuickRule::of(*charge.rule);
  Touched touched;
  if (rule) {
    touched = touch(visit, spot_of(fingerprint(charge)), *rule, place_of(*rule), charge.cost);
  }
  if (!touched.made()) return charge_locked(charges, answers, takeovers);
  answers[0] = Answer{rule->bucket.verdict(touched.step(), charge.cost)};
  return Admission{touched.admitted() || charge.shadow, time_.now()};
}

Admission MemoryStore::charge_under_lock(std::span<const Charge> charges, Instant now,
                                         std::span<Answer> answers, Takeovers takeovers) {
  WEIR_CHECK(charges.size() == answers.size() && charges.size() <= kMaxCharges,
             "a request meets at most 64 counters, with room for an answer to each");
  const Visit visit(*this, now);
  return charge_locked(charges, answers, takeovers);
}

void MemoryStore::look_now(std::span<const Charge> charges, Instant now, std::span<Answer> answers,
                           Takeovers takeovers) {
  WEIR_CHECK(charges.size() == answers.size() && charges.size() <= kMaxCharges,
             "a request meets at most 64 counters, with room for an answer to each");
  const Visit visit(*this, now);
  charge_locked(charges, answers, takeovers, /*look=*/true);
}

// WHY the time is read after the slot, in next(): it is then as late as any that led to what the
// slot holds.
MemoryStore::Touched MemoryStore::touch_shared(BucketSlot& slot, std::uint64_t name,
                                               const limit::NarrowBucket& bucket,
                                               std::uint64_t cost) {
  constexpr int kMaxTries = 16;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::uint64_t arrival = slot.arrival.load(std::memory_order_acquire);
    const Next made = next(bucket, arrival, cost);
    if (!made.touched.made()) break;
    const bool unchanged = made.arrival == arrival ? slot.reads(name, arrival)
                                                   : slot.charge(name, arrival, made.arrival);
    if (unchanged) return made.touched;
    if (!slot.is(name)) break;
  }
  return {};
}

Admission MemoryStore::charge_locked(std::span<const Charge> charges, std::span<Answer> answers,
                                     Takeovers takeovers, bool look) {
  if (book_.wants_reclaim()) reclaim_rules();
  start_epoch();
  Request request(*this, charges, takeovers);
  bool admitted = true;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool admits = request.decide(i);
    if (!charges[i].shadow) admitted = admitted && admits;
  }
  bool charged = false;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!charges[i].with_before) charged = admitted && !look && request.admit_together(i);
    answers[i] = Answer{charged ? request.commit(i) : request.leave(i)};
    if (charged && request.is_new(i)) {
      sample_.add(request.id(i), charges[i].counter);
    }
  }
  return Admission{admitted, request.now()};
}

void MemoryStore::correct(std::span<const Charge> charges, const std::optional<Once>& once,
                          Instant now, Corrected told) {
  const Correction correction = correct_now(charges, once, now);
  if (told) told(correction);
}

// WHY the mark before the change: nobody else makes the change then, and if both cannot be seen at
// once, it is the use that shows first.
Correction MemoryStore::correct_now(std::span<const Charge> charges,
                                    const std::optional<Once>& once, Instant now,
                                    Takeovers takeovers) {
  using Outcome = Correction::Outcome;
  WEIR_CHECK(charges.size() <= kMaxCharges, "a request meets at most 64 counters");
  const Visit visit(*this, now);
  if (once) {
    const auto use = once_.use(once->serial, once->until.steady_ns, time_.now().steady_ns);
    if (use == OnceBook::Use::kAgain) return {.outcome = Outcome::kSpent};
    if (use == OnceBook::Use::kTooLate) return {.outcome = Outcome::kTooLate};
  }
  start_epoch();
  Request request(*this, charges, takeovers);
  Correction correction;
  correction.at = request.now();
  for (std::size_t i = 0; i < charges.size(); ++i) correction.found += request.correct(i) ? 1 : 0;
  return correction;
}

void MemoryStore::reset(std::span<const Charge> charges, Corrected told) {
  WEIR_CHECK(charges.size() <= kMaxCharges, "a request meets at most 64 counters");
  {
    const Entrance::Visit visit(entrance_);
    Request request(*this, charges);
    for (std::size_t i = 0; i < charges.size(); ++i) request.erase(i);
  }
  if (told) told({});
}

std::size_t MemoryStore::sweep(Instant now) {
  std::size_t dropped = 0;
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const Visit visit(*this, now);
    const std::lock_guard lock(shards_[i].mutex);
    dropped += shards_[i].drop_fresh(time_.now(), Shard::kAll);
  }
  return dropped;
}

std::map<std::string, std::uint64_t> MemoryStore::keys_by_counter() {
  return sample_.count([this](const Hash128& id) {
    const Entrance::Visit visit(entrance_);
    const std::lock_guard lock(shard_of(id).mutex);
    return table_of(id).find(id) != nullptr || shard_of(id).find(id) != Shard::kNone;
  });
}

std::size_t MemoryStore::keys_in_slots() {
  std::size_t count = 0;
  for (std::size_t i = 0; i <= shard_mask_; ++i) {
    const Entrance::Visit visit(entrance_);
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
