// What becomes of a receipt: settled, refunded, released, renewed.

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/compiled_policy.h"
#include "engine/engine.h"
#include "engine/local_share.h"
#include "engine/receipt_id.h"

namespace weir::engine {
namespace {

using store::Change;
using store::Charge;
using store::Correction;
using Outcome = store::Correction::Outcome;

constexpr Duration kIdsLast = std::chrono::minutes(15);

Correction was(Outcome outcome) {
  Correction correction;
  correction.outcome = outcome;
  return correction;
}

void tell(const Engine::Corrected& told, const Correction& correction) {
  if (told) told(correction);
}

// What of two corrections the caller hears: what failed rather than what was made.
Correction both(const Correction& a, const Correction& b) {
  Correction told = a.outcome == Outcome::kMade ? b : a;
  if (a.outcome == Outcome::kUnknown || b.outcome == Outcome::kUnknown) {
    told.outcome = Outcome::kUnknown;
  }
  told.found = a.found + b.found;
  return told;
}

// The numbers by which what was taken counts now: those in force. Null where it counts no more. WHY
// not those it was taken under: the counter would be made what they know of it, and forget what was
// taken since.
const limit::Rule* rule_in_force(const Charged& charged, const TakenFrom& one,
                                 const CompiledPolicy& policy) {
  if (one.limit == nullptr || charged.rules.get() == &policy) return one.rule;
  const policy::Limit* limit = nullptr;
  const Counter* counter = find_counter(policy, charged.counter(one), charged.key(one),
                                        shape_of(one.rule->numbers()), limit);
  return counter == nullptr ? nullptr : &counter->rule;
}

Charge charge_of(const Charged& charged, const TakenFrom& one, const limit::Rule& rule,
                 Change change, std::uint64_t cost, Instant at) {
  Charge charge;
  charge.rule = &rule;
  charge.counter = charged.counter(one);
  charge.key = charged.key(one);
  charge.cost = cost;
  charge.charged_at = at;
  charge.change = change;
  return charge;
}

// The corrections that make a receipt's cost what `actual` says of each limit.
std::vector<Charge> cost_changes(const Charged& charged, const Engine::Actual& actual,
                                 const CompiledPolicy& policy, bool local) {
  std::vector<Charge> changes;
  for (const TakenFrom& one : charged.taken) {
    if (one.is_place() || one.local != local) continue;
    const std::optional<std::uint64_t> now_costs = actual(one.limit);
    if (!now_costs || *now_costs == one.cost) continue;
    const limit::Rule* rule = rule_in_force(charged, one, policy);
    if (rule == nullptr) continue;
    const bool less = *now_costs < one.cost;
    const Instant at = local ? charged.local_at : charged.at + one.apart;
    changes.push_back(charge_of(charged, one, *rule, less ? Change::kGiveBack : Change::kTake,
                                less ? one.cost - *now_costs : *now_costs - one.cost, at));
  }
  return changes;
}

std::vector<Charge> place_changes(const Charged& charged, Change change, bool local) {
  std::vector<Charge> changes;
  for (const TakenFrom& one : charged.taken) {
    if (!one.is_place() || one.local != local) continue;
    const Instant at = local ? charged.local_at : charged.places_at + one.apart;
    changes.push_back(charge_of(charged, one, *one.rule, change, one.cost, at));
  }
  return changes;
}

// From now on the calls in flight are found as begun when they were renewed.
void move_places(Charged& charged, const Correction& renewed) {
  charged.places_at = renewed.at;
  ++charged.renewals;
  std::size_t place = 0;
  for (TakenFrom& one : charged.taken) {
    if (!one.is_place() || one.local) continue;
    one.apart = place < renewed.apart.size() ? renewed.apart[place] : Duration{0};
    ++place;
  }
}

// An id's halves are corrected once each, its places once after each renewal.
store::Once cost_once(const Charged& charged, Duration lasts) {
  return {charged.serial, charged.at + lasts};
}
store::Once places_once(const Charged& charged, Duration longest_timeout) {
  Hash128 serial = charged.serial;
  serial.high ^= (std::uint64_t{charged.renewals} + 1) * 0x9e3779b97f4a7c15;
  return {serial, charged.places_at + longest_timeout};
}

Duration longest_timeout(const Charged& charged) {
  Duration longest{0};
  for (const TakenFrom& one : charged.taken) {
    const auto* calls = std::get_if<Concurrency>(&one.rule->numbers());
    if (calls != nullptr) longest = std::max(longest, calls->timeout);
  }
  return longest;
}

}  // namespace

void Engine::append_id(const Decision& decision, std::string& out) const {
  ids_->append(decision, out);
}

void Engine::append_id(const Receipt& receipt, std::string& out) const {
  ids_->append(receipt, out);
}

Result<Receipt> Engine::open(std::string_view id) const {
  return ids_->open(id, current());
}

void Engine::share_id_secret(const SipKey& secret) {
  ids_->share(secret);
}

void Engine::settle(const Receipt& receipt, const Actual& actual, Instant now, Corrected told) {
  if (receipt.empty()) return tell(told, was(Outcome::kMade));
  Charged& charged = *receipt.charged();
  {
    const std::lock_guard lock(charged.mutex);
    if (!std::exchange(charged.cost_open, false)) return tell(told, was(Outcome::kSpent));
  }
  const auto in_force = current();
  const auto own = cost_changes(charged, actual, *in_force, true);
  if (!own.empty()) local_->correct(own, now);
  std::vector<Charge> changes = cost_changes(charged, actual, *in_force, false);
  std::optional<store::Once> once;
  if (charged.from_id) {
    const auto& api = in_force->policy().api;
    once = cost_once(charged, api ? api->id_lifetime : kIdsLast);
  }
  if (changes.empty()) {
    if (!once) return tell(told, was(Outcome::kMade));
    // Nothing changes; that the id was used is remembered all the same.
    const TakenFrom& first = charged.taken.front();
    changes.push_back(charge_of(charged, first, *first.rule, Change::kGiveBack, 0, charged.at));
  }
  store_.correct(changes, once, now, std::move(told));
}

void Engine::settle(const Receipt& receipt, std::uint64_t cost, Instant now, Corrected told) {
  const bool some_say = receipt.any_limit([](const policy::Limit& l) { return !l.settle.empty(); });
  const auto actual = [cost, some_say](const policy::Limit* limit) -> std::optional<std::uint64_t> {
    if (some_say && (limit == nullptr || limit->settle.empty())) return std::nullopt;
    return cost;
  };
  settle(receipt, actual, now, std::move(told));
}

void Engine::refund(const Receipt& receipt, Instant now, Corrected told) {
  const auto nothing = [](const policy::Limit*) { return std::optional<std::uint64_t>(0); };
  if (!receipt.has_places()) return settle(receipt, nothing, now, std::move(told));
  // The places end with it; those that were released before stay so.
  release(receipt, now, [this, receipt, nothing, now, told](const Correction& released) {
    const bool only_places =
        std::all_of(receipt.charged()->taken.begin(), receipt.charged()->taken.end(),
                    [](const TakenFrom& one) { return one.is_place(); });
    if (only_places) return tell(told, released);
    settle(receipt, nothing, now, [told, released](Correction refunded) {
      if (released.outcome == Outcome::kUnknown) refunded = both(refunded, released);
      tell(told, refunded);
    });
  });
}

void Engine::release(const Receipt& receipt, Instant now, Corrected told) {
  if (!receipt.has_places()) return tell(told, was(Outcome::kMade));
  Charged& charged = *receipt.charged();
  std::unique_lock lock(charged.mutex);
  if (!std::exchange(charged.places_open, false)) {
    lock.unlock();
    return tell(told, was(Outcome::kSpent));
  }
  // WHY wait: only the answer to a renewal that is under way says where the calls stand by then.
  if (charged.renewing) {
    charged.after_renewal = [this, receipt, now, told] { end_places(receipt, now, told); };
    return;
  }
  lock.unlock();
  end_places(receipt, now, told);
}

void Engine::end_places(const Receipt& receipt, Instant now, const Corrected& told) {
  const Charged& charged = *receipt.charged();
  const auto own = place_changes(charged, Change::kGiveBack, true);
  if (!own.empty()) local_->correct(own, now);
  const auto changes = place_changes(charged, Change::kGiveBack, false);
  if (changes.empty()) return tell(told, was(Outcome::kMade));
  std::optional<store::Once> once;
  if (charged.from_id) once = places_once(charged, longest_timeout(charged));
  store_.correct(changes, once, now, told);
}

void Engine::renew(const Receipt& receipt, Instant now, Corrected told) {
  if (!receipt.has_places()) return tell(told, was(Outcome::kMade));
  Charged& charged = *receipt.charged();
  std::unique_lock lock(charged.mutex);
  if (!charged.places_open || charged.renewing) {
    lock.unlock();
    return tell(told, was(Outcome::kSpent));
  }
  charged.renewing = true;
  lock.unlock();
  const auto own = place_changes(charged, Change::kRenew, true);
  if (!own.empty()) charged.local_at = local_->correct(own, now).at;
  const auto changes = place_changes(charged, Change::kRenew, false);
  if (changes.empty()) return end_renewal(receipt, was(Outcome::kMade), told);
  std::optional<store::Once> once;
  if (charged.from_id) once = places_once(charged, longest_timeout(charged));
  store_.correct(changes, once, now, [this, receipt, told](const Correction& correction) {
    end_renewal(receipt, correction, told);
  });
}

void Engine::end_renewal(const Receipt& receipt, const Correction& correction,
                         const Corrected& told) {
  Charged& charged = *receipt.charged();
  std::unique_lock lock(charged.mutex);
  charged.renewing = false;
  if (correction.outcome == Outcome::kMade && correction.found > 0) {
    move_places(charged, correction);
  }
  const auto release = std::exchange(charged.after_renewal, nullptr);
  lock.unlock();
  if (release) release();
  tell(told, correction);
}

}  // namespace weir::engine
