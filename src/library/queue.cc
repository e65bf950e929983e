// The queue of a Core: who waits, and whose turn it is.

#include <algorithm>
#include <limits>
#include <utility>

#include "library/core.h"

namespace weir::library {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

constexpr Wide kAll = ~Wide{0};

// Earlier than any sample: counts as the latest one seen.
constexpr Instant kLatestSeen = at_ns(limit::kEarliestNs);

}  // namespace

Verdict Core::acquire(std::uint64_t cost, std::int64_t deadline) {
  const Instant now = clock_->now();
  const Verdict at_once = check(cost, now);
  if (at_once.outcome != Outcome::kDenied) return at_once;
  Waiting waiting;
  waiting.cost = cost;
  waiting.deadline = deadline;
  join(waiting, now);
  while (poll(waiting, clock_->now()) == Waiter::State::kWaiting) {
    clock_->park(waiting.parking, waiting.wake_at);
  }
  return waiting.verdict;
}

// A turn that is known to come after the deadline is refused here, before any waiting.
void Core::join(Waiting& waiting, Instant now) {
  const Visit visit(*this, now);
  if (waiting.cost == 0) {
    waiting.verdict = backend().take(0, now).verdict;
    waiting.state = Waiter::State::kAdmitted;
    return;
  }
  waiting.place = queue_.insert(queue_.end(), &waiting);
  if (bucket_) hold(waiting, now);
  look(waiting, now);
}

Waiter::State Core::poll(Waiting& waiting, Instant now) {
  const Visit visit(*this, now);
  look(waiting, now);
  waiting.told = waiting.state != Waiter::State::kWaiting;
  return waiting.state;
}

// REQUIRES: visited, as all below but for leave().
void Core::look(Waiting& waiting, Instant now) {
  if (waiting.state != Waiter::State::kWaiting) return;
  const Turn turn = try_admit(waiting, now);
  if (waiting.state != Waiter::State::kWaiting) return;
  const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
  if (ns >= waiting.deadline || (turn.known && turn.ns > waiting.deadline)) {
    refuse(waiting, turn, now);
  }
  waiting.wake_at = std::min(turn.ns, waiting.deadline);
}

// One that was admitted and never learned of it gives back what it took.
void Core::leave(Waiting& waiting) {
  const Visit visit(*this, kLatestSeen);
  if (waiting.state == Waiter::State::kWaiting) return remove(waiting, kLatestSeen);
  const bool has_taken = waiting.state == Waiter::State::kAdmitted && waiting.cost > 0;
  if (!has_taken || waiting.told || waiting.generation != generation_) return;
  return_and_move_up({waiting.order, waiting.cost, false, waiting.charged_at}, kLatestSeen);
}

// Time passes. Those who waited through a block hold from its end on: what comes in before is the
// bucket's, up to its burst, and nobody's turn. REQUIRES: a lone bucket.
void Core::advance(Instant now) {
  const bool none_holds = !queue_.empty() && !queue_.front()->holds;
  if (none_holds && limit::read(limit::Timeline::kSteady, now) >= blocked_until_) {
    for (auto next = queue_.begin(); next != queue_.end();) hold(**next++, at_ns(blocked_until_));
  }
  bucket_->advance(now);
}

// Takes the tokens of a waiter ahead of time; but for one that can never have them, only looks
// while the limiter is blocked. REQUIRES: a lone bucket.
void Core::hold(Waiting& waiting, Instant now) {
  bucket_->advance(now);
  Level& level = bucket_->level();
  const Wide ticks = bucket_->shape().ticks(waiting.cost);
  const bool possible =
      waiting.cost <= bucket_->shape().burst && level.debt + ticks <= bucket_->shape().most_debt();
  if (!possible ||
      (bucket_->shape().unit == 0 && level.debt + ticks > bucket_->shape().capacity())) {
    waiting.verdict = refused(bucket_->shape(), level, waiting.cost);
    end(waiting, Waiter::State::kRefused);
    return;
  }
  if (level.time < blocked_until_) return;
  level.debt += ticks;
  waiting.turn = level;
  waiting.holds = true;
  waiting.order = next_order_++;
  waiting.generation = generation_;
}

// Admits the waiter where its turn has come; else says when that will be, as far as is known.
Core::Turn Core::try_admit(Waiting& waiting, Instant now) {
  if (bucket_) {
    const std::int64_t turn = waiting.holds ? turn_of(waiting) : blocked_until_;
    if (turn > bucket_->level().time) return {turn, true};
    waiting.verdict = shown(bucket_->shape(), bucket_->level());
    end(waiting, Waiter::State::kAdmitted);
    return {turn, true};
  }
  if (waiting.place != queue_.begin()) return {kUnknown, false};
  if (is_blocked(now)) return {blocked_until_, true};
  const Backend::Taken taken = counters_->take(waiting.cost, now);
  waiting.verdict = taken.verdict;
  const std::int64_t at = limit::within_reach(taken.at.steady_ns);
  if (taken.verdict.outcome == Outcome::kDenied) {
    return {at + taken.verdict.retry_after.count(), taken.verdict.retry_known};
  }
  waiting.generation = generation_;
  waiting.charged_at = taken.at;
  end(waiting, taken.verdict.allowed() ? Waiter::State::kAdmitted : Waiter::State::kRefused);
  wake_first();
  return {at, true};
}

std::int64_t Core::turn_of(const Waiting& waiting) const {
  const Wide capacity = bucket_->shape().capacity();
  if (waiting.turn.debt <= capacity) return waiting.turn.time;
  return waiting.turn.time + bucket_->shape().ns_for(waiting.turn.debt - capacity);
}

void Core::refuse(Waiting& waiting, const Turn& turn, Instant now) {
  remove(waiting, now);
  waiting.state = Waiter::State::kRefused;
  if (const auto no = blocked(waiting.cost, now)) {
    waiting.verdict = *no;
    return;
  }
  Verdict verdict = backend().take(0, now).verdict;
  const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
  verdict.outcome = Outcome::kDenied;
  verdict.retry_known = turn.known;
  verdict.retry_after =
      turn.ns == kUnknown ? std::max(verdict.next_after, Duration(1)) : Duration(turn.ns - ns);
  waiting.verdict = verdict;
}

void Core::end(Waiting& waiting, Waiter::State state) {
  queue_.erase(waiting.place);
  waiting.state = state;
}

// Out of the queue; those behind move up.
void Core::remove(Waiting& waiting, Instant now) {
  const bool was_first = waiting.place == queue_.begin();
  queue_.erase(waiting.place);
  if (waiting.holds) return_and_move_up({.order = waiting.order, .cost = waiting.cost}, now);
  if (counters_ && was_first) wake_first();
}

// Gives tokens back: those who wait and came after them get their turns earlier.
void Core::return_and_move_up(const Back& back, Instant now) {
  if (counters_) {
    counters_->give_back(back.cost, now, back.charged_at);
    return wake_first();
  }
  move_up(back.order, bucket_->give_back(back.order, back.cost, room_behind(back.order), now));
  if (back.gone) move_up(0, bucket_->withdraw(back.order, room_behind(0)));
}

// The turns of those who came after number `order`.
void Core::move_up(std::uint64_t order, Wide ticks) {
  if (ticks == 0) return;
  for (Waiting* waiting : queue_) {
    if (waiting->order < order) continue;
    waiting->turn = advanced(waiting->turn, bucket_->shape(), bucket_->level().time);
    waiting->turn.debt -= std::min(ticks, waiting->turn.debt);
    waiting->wake();
  }
}

// Those who wait behind number `order` act now at the earliest: of a bucket that is full, all that
// is held until then is missing.
Wide Core::room_behind(std::uint64_t order) const {
  Wide held = 0;
  for (const Waiting* waiting : queue_) {
    if (!waiting->holds) break;
    held += bucket_->shape().ticks(waiting->cost);
    if (waiting->order < order) continue;
    const Wide owed = advanced(waiting->turn, bucket_->shape(), bucket_->level().time).debt;
    return owed - std::min(held, owed);
  }
  return kAll;
}

// Applies a change of the counters or of the numbers, or a block. Those who wait are admitted first
// if their turn has come; the others hand back what they hold, and queue up anew behind the change.
void Core::change(Instant now, const std::function<void()>& apply) {
  if (bucket_) {
    for (auto next = queue_.begin(); next != queue_.end();) {
      Waiting& waiting = **next++;
      try_admit(waiting, now);
    }
    for (Waiting* waiting : queue_) {
      if (std::exchange(waiting->holds, false)) {
        bucket_->give_back(waiting->order, waiting->cost, kAll, now);
      }
    }
  }
  apply();
  for (auto next = queue_.begin(); next != queue_.end();) {
    Waiting& waiting = **next++;
    if (bucket_) hold(waiting, now);
    waiting.wake();
  }
}

void Core::wake_first() {
  if (!queue_.empty()) queue_.front()->wake();
}

}  // namespace weir::library
