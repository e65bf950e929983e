// What MemoryStore is made of: one request, with its shards locked. Included by memory_store.cc
// alone.
//
// THREADS: one.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include <boost/container/small_vector.hpp>

#include "store/memory/memory_store.h"
#include "store/memory/takeover.h"

namespace weir::store {

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
  Request(MemoryStore& store, std::span<const Charge> charges, Takeovers takeovers = {})
      : charges_(charges), takeovers_(takeovers) {
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
    } else {
      place.step = rule(i).decide(state(i), charges_[i].cost, now_);
    }
    return admits(i);
  }

  // Whether charge i and those that are charged with it admit the call. REQUIRES: all are decided,
  // and i is the first of them.
  bool admit_together(std::size_t i) const {
    do {
      if (!admits(i)) return false;
    } while (++i < charges_.size() && charges_[i].with_before);
    return true;
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
  bool admits(std::size_t i) const {
    const Place& place = places_[i];
    return (rule(i).keeps_log() ? place.log_step.verdict : place.step.verdict).allowed();
  }
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
      return place.shard->take_out(place.slot, place.id, charge.cost, charged_ns(i), now_) > 0;
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
        place.shard->take_out(place.slot, place.id, charges_[i].cost, charged_ns(i), now_);
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

  // Converts a counter that was written under other numbers: at its first use, and a peek is none
  // where it stays as it is.
  void adopt(RuleBook& book, std::size_t i) {
    Place& place = places_[i];
    place.rule = place.shard->booked(rule(i), book);
    if (place.written == nullptr || place.written == place.rule) return;
    const limit::Rule& older = *place.written->rule;
    const Takeover* const takeover = takeovers_.empty() ? nullptr : takeovers_[i];
    if (takeover != nullptr && takeover->about(older)) return take_over(i, takeover->inherit);
    place.state = rule(i).adopt(older, *place.state, now_);
    if (charges_[i].cost > 0) keep(i, place.state);
  }

  void take_over(std::size_t i, Inherit inherit) {
    Place& place = places_[i];
    const limit::Rule& older = *place.written->rule;
    const Verdict before = look(older, i);
    std::optional<limit::State> next;
    if (inherit != Inherit::kReset) next = rule(i).adopt(older, *place.state, now_);
    keep(i, next);
    if (inherit == Inherit::kReset || inherit == Inherit::kAsIs) return;
    set_left(i, inherited_left(before, rule(i).quota(), inherit), before.quota - before.remaining);
  }

  Verdict look(const limit::Rule& by, std::size_t i) const {
    if (by.keeps_log()) return by.decide(log(i), 0, now_).verdict;
    return by.decide(state(i), 0, now_).verdict;
  }

  void keep(std::size_t i, std::optional<limit::State> next) {
    if (!next) return erase(i);
    write(i, *next);
    places_[i].state = next;
  }

  // As far as it can be: what a window before has used is not given back. `used` before; a window
  // that is over its new limit has used all of that still.
  void set_left(std::size_t i, std::uint64_t wanted, std::uint64_t used) {
    const std::uint64_t left = look(rule(i), i).remaining;
    if (wanted < left) take_more(i, left - wanted);
    if (wanted <= left) return;
    const std::uint64_t may_use = rule(i).quota() - wanted;
    const std::uint64_t over = left == 0 && used > may_use ? used - may_use : 0;
    take_less(i, std::max(wanted - left, over));
  }

  void take_more(std::size_t i, std::uint64_t cost) {
    Place& place = places_[i];
    if (!rule(i).keeps_log()) return keep(i, rule(i).decide(state(i), cost, now_).next);
    const limit::LogStep step = rule(i).decide(log(i), cost, now_);
    place.shard->put_log(place.slot, place.id, place.rule, step, cost, now_);
    find_log(place);
  }

  void take_less(std::size_t i, std::uint64_t cost) {
    Place& place = places_[i];
    if (!place.state) return;
    if (!rule(i).keeps_log()) {
      return keep(i, rule(i).refund(*place.state, cost, now_, std::nullopt));
    }
    place.shard->take_out(place.slot, place.id, cost, std::nullopt, now_);
    find_log(place);
  }

  static void find_log(Place& place) {
    place.slot = place.shard->find(place.id);
    place.state.reset();
    if (place.slot != Shard::kNone) place.state = place.shard->at(place.slot).state;
  }

  std::span<const Charge> charges_;
  Takeovers takeovers_;
  ShardLocks locks_;
  Instant now_;
  boost::container::small_vector<Place, 4> places_;
};

}  // namespace weir::store
