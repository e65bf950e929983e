// Core: a limiter's counters, its lock and its queue.
//
// A lone bucket lives in its Cell (cell.h) while nobody needs more than to take: check() and
// allow() then need no lock. All else enters through a Visit, which locks, takes the bucket out of
// the cell, and puts it back at the end; a cell stays closed while the limiter is blocked.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "library/backend.h"
#include "library/bucket_backend.h"
#include "library/cell.h"
#include "library/store_backend.h"
#include "library/waiting.h"
#include "weir/limiter.h"

namespace weir::library {

class Core {
 public:
  static Result<std::unique_ptr<Core>> make(const std::vector<Numbers>& numbers,
                                            const LimiterOptions& options);

  const Clock& clock() const { return *clock_; }
  Instant or_now(std::optional<Instant> now) const { return now ? *now : clock_->now(); }
  // Only the steady reading is needed while a lone bucket is inside.
  Instant quick_now() const {
    return lone_.load(std::memory_order_relaxed) ? at_ns(clock_->steady_ns()) : clock_->now();
  }

  bool allow(std::uint64_t cost, Instant now) {
    const Cell::Taken taken = take_quickly(cost, now.steady_ns);
    if (taken != Cell::Taken::kAskOwner) return taken == Cell::Taken::kYes;
    return allow_locked(cost, now);
  }
  // By the limiter's own clock.
  bool allow(std::uint64_t cost) {
    if (!lone_.load(std::memory_order_relaxed)) return allow_locked(cost, clock_->now());
    const std::int64_t ns = clock_->steady_ns();
    const Cell::Taken taken = take_quickly(cost, ns);
    if (taken != Cell::Taken::kAskOwner) return taken == Cell::Taken::kYes;
    return allow_locked(cost, at_ns(ns));
  }
  Verdict check(std::uint64_t cost, Instant now);
  Portion allow_at_most(std::uint64_t most, Instant now);
  Ticket reserve(std::uint64_t cost, Duration most_delay, Instant now);
  // Gives back what the ticket took beyond `kept`, or takes what it lacks. Once.
  void give_back(Ticket& ticket, std::uint64_t kept, Instant now);
  void refund(std::uint64_t cost, Instant now);
  void penalty(std::uint64_t cost, Instant now);
  void block(Duration duration, Instant now);
  void reset(Instant now);
  void set_tokens(std::uint64_t tokens, Instant now);
  Result<bool> update(const std::vector<Numbers>& numbers, Inherit inherit, Instant now);

  // Blocks. `deadline`: on the steady timeline.
  Verdict acquire(std::uint64_t cost, std::int64_t deadline);
  // `waiting`, its cost, deadline and `changed` set, stays where it is until it is not waiting.
  void join(Waiting& waiting, Instant now);
  Waiter::State poll(Waiting& waiting, Instant now);
  void leave(Waiting& waiting);
  Waiter waiter(std::unique_ptr<Waiting> waiting) { return Waiter(this, std::move(waiting)); }

 private:
  // The limiter's lock, with a lone bucket taken out of its cell for as long as it is held.
  class Visit {
   public:
    Visit(Core& core, Instant now);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Core& core_;
    Instant now_;
    std::unique_lock<std::mutex> lock_;
  };
  struct Compiled;
  // What is given back of what was taken as number `order` (0: by anyone).
  struct Back {
    std::uint64_t order = 0;
    std::uint64_t cost = 0;
    bool gone = false;  // nothing of it is used
    std::optional<Instant> charged_at = std::nullopt;
  };
  // When a waiter is to look again. `known`: it cannot be admitted before.
  struct Turn {
    std::int64_t ns;
    bool known;
  };

  Core(const Clock& clock, Compiled compiled);
  static Result<Compiled> compile(const std::vector<Numbers>& numbers);

  Cell::Taken take_quickly(std::uint64_t cost, std::int64_t steady_ns) {
    // Beyond reach, the owner brings it within.
    const bool reached = steady_ns >= limit::kEarliestNs && steady_ns <= limit::kLatestNs;
    if (cost == 0 || !reached) [[unlikely]]
      return Cell::Taken::kAskOwner;
    return cell_.take(cost, steady_ns);
  }
  bool allow_locked(std::uint64_t cost, Instant now);
  static Verdict told(const Cell::Seen& seen, bool taken, std::uint64_t cost);

  // REQUIRES, for all below: visited.
  Backend& backend();
  Verdict take(std::uint64_t cost, Instant now);
  std::int64_t latest(Instant now);
  bool is_blocked(Instant now);
  std::optional<Verdict> blocked(std::uint64_t cost, Instant now);
  void return_and_move_up(const Back& back, Instant now);
  void move_up(std::uint64_t order, Wide ticks);
  Wide room_behind(std::uint64_t order) const;
  void change(Instant now, const std::function<void()>& apply);
  void advance(Instant now);
  void hold(Waiting& waiting, Instant now);
  void look(Waiting& waiting, Instant now);
  Turn try_admit(Waiting& waiting, Instant now);
  std::int64_t turn_of(const Waiting& waiting) const;
  void refuse(Waiting& waiting, const Turn& turn, Instant now);
  void end(Waiting& waiting, Waiter::State state);
  void remove(Waiting& waiting, Instant now);
  void wake_first();

  const Clock* clock_;
  Cell cell_;
  std::atomic<bool> lone_;
  std::mutex mutex_;
  // Exactly one is there.
  std::optional<BucketBackend> bucket_;
  std::optional<StoreBackend> counters_;
  std::int64_t blocked_until_ = limit::kEarliestNs;
  std::list<Waiting*> queue_;  // as long as callers wait
  std::uint64_t next_order_ = 1;
  // How often the counters have started afresh: what was taken before is not theirs any more.
  std::uint64_t generation_ = 0;
};

}  // namespace weir::library
