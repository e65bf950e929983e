// The queue of a Core: who waits, and whose turn it is.

#include <algorithm>
#include <limits>
#include <utility>

#include "library/core.h"

namespace weir::library {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

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
  {
    const Visit visit(*this, now);
    waiting.place = queue_.insert(queue_.end(), &waiting);
    if (bucket_) hold(waiting, now);
  }
  poll(waiting, now);
}

Waiter::State Core::poll(Waiting& waiting, Instant now) {
  const Visit visit(*this, now);
  if (waiting.state != Waiter::State::kWaiting) return waiting.state;
  const std::int64_t turn = try_admit(waiting, now);
  if (waiting.state != Waiter::State::kWaiting) return waiting.state;
  const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
  if (ns >= waiting.deadline || (turn != kUnknown && turn > waiting.deadline)) {
    refuse(waiting, turn, now);
  }
  waiting.wake_at = std::min(turn, waiting.deadline);
  return waiting.state;
}

void Core::leave(Waiting& waiting) {
  const Visit visit(*this, kLatestSeen);
  if (waiting.state == Waiter::State::kWaiting) remove(waiting, kLatestSeen);
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
}

// Admits the waiter where its turn has come; else says when that will be, as far as is known.
std::int64_t Core::try_admit(Waiting& waiting, Instant now) {
  if (bucket_) {
    const std::int64_t turn = waiting.holds ? turn_of(waiting) : blocked_until_;
    if (turn > bucket_->level().time) return turn;
    waiting.verdict = shown(bucket_->shape(), bucket_->level());
    end(waiting, Waiter::State::kAdmitted);
    return turn;
  }
  if (waiting.place != queue_.begin()) return kUnknown;
  const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
  if (ns < blocked_until_) return blocked_until_;
  const Backend::Taken taken = counters_->take(waiting.cost, now);
  waiting.verdict = taken.verdict;
  if (taken.verdict.outcome == Outcome::kDenied) {
    return limit::within_reach(taken.at.steady_ns) + taken.verdict.retry_after.count();
  }
  end(waiting, taken.verdict.allowed() ? Waiter::State::kAdmitted : Waiter::State::kRefused);
  wake_first();
  return ns;
}

std::int64_t Core::turn_of(const Waiting& waiting) const {
  const Wide capacity = bucket_->shape().capacity();
  if (waiting.turn.debt <= capacity) return waiting.turn.time;
  return waiting.turn.time + bucket_->shape().ns_for(waiting.turn.debt - capacity);
}

void Core::refuse(Waiting& waiting, std::int64_t turn, Instant now) {
  remove(waiting, now);
  waiting.state = Waiter::State::kRefused;
  Verdict verdict = backend().take(0, now).verdict;
  const std::int64_t ns = limit::read(limit::Timeline::kSteady, now);
  verdict.outcome = Outcome::kDenied;
  verdict.retry_known = turn != kUnknown;
  verdict.retry_after =
      turn == kUnknown ? std::max(verdict.next_after, Duration(1)) : Duration(turn - ns);
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
  if (waiting.holds) return_and_move_up(waiting.order, waiting.cost, now, std::nullopt);
  if (counters_ && was_first) wake_first();
}

// Gives back what was taken as number `order`: those who came after it get their turns earlier.
void Core::return_and_move_up(std::uint64_t order, std::uint64_t cost, Instant now,
                              std::optional<Instant> charged_at) {
  backend().give_back(cost, now, charged_at);
  if (counters_) return wake_first();
  const Wide ticks = bucket_->shape().ticks(cost);
  for (Waiting* waiting : queue_) {
    if (waiting->order < order) continue;
    waiting->turn = advanced(waiting->turn, bucket_->shape(), bucket_->level().time);
    waiting->turn.debt -= std::min(ticks, waiting->turn.debt);
    waiting->wake();
  }
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
        bucket_->give_back(waiting->cost, now, std::nullopt);
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
