// Limiter: one limit for one thing, in this process: a queue, a connection, a tenant's quota.
//
//   auto limiter = weir::Limiter::make(weir::TokenBucket{{.count = 10}, 20});  // 10/s, burst 20
//   if (limiter->allow()) serve();
//
// Exact: integer arithmetic at every rate, no drift. A refused call takes nothing, and one repeated
// at exactly `retry_after` is admitted if nobody else called in between. Amounts are whole tokens
// (calls, for windows), durations nanoseconds. "Not yet" and "never" are different outcomes.
//
// Every call may be told `now`; without it, the limiter reads its clock. Samples that come late
// count as the latest one seen. A token bucket decides without a lock (16-byte compare-and-swap);
// several sets of numbers, and the other algorithms, under a mutex: same answers.
//
// Nothing throws but for lack of memory in make(). THREADS: everything from any thread, but for
// moving and destroying. A Limiter outlives its tickets and waiters.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/export.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

namespace library {
class Core;
struct Waiting;
}  // namespace library

// What becomes of what is left when the numbers change; what a bucket owes (reservations,
// penalties), it owes still, but for kReset. With 40 of 100 left, to 200 and to 20:
enum class Inherit : std::uint8_t {
  kAsIs,          // 40, 20: what is left stays left (in windows: what is used stays used)
  kReset,         // 200, 20: as if new
  kProportional,  // 80, 8: the same share
  kAdditive,      // 140, 20: what is added to the burst is there at once
};

struct LimiterOptions {
  const Clock* clock = nullptr;  // must outlive the limiter; null: system_clock()
};

// What allow_at_most() took, and, where that is nothing, when to ask again.
struct Portion {
  std::uint64_t taken = 0;
  Verdict verdict;
};

// Tokens that were taken, now or ahead of time. Not a guard: destroying it gives nothing back. It
// ends with the counters that it was taken from: after reset(), set_tokens(), and an update() that
// starts afresh (kReset, or from one bucket to other limits or back), it corrects nothing.
// THREADS: one at a time.
class WEIR_API Ticket {
 public:
  Ticket() = default;

  // False: nothing was taken; verdict() says when to ask again, or never.
  bool granted() const { return verdict_.allowed(); }
  // When granted, `delay` is how long to wait before acting; the limit holds if callers do.
  const Verdict& verdict() const { return verdict_; }
  Duration delay() const { return verdict_.delay; }
  std::uint64_t cost() const { return cost_; }

  // Gives back what is still useful: never above full. The delays of other tickets stay as they
  // were told; what would let anyone act together with those that came after this one, beyond the
  // burst, stays taken until their turns have passed. Once; afterwards, as for a ticket that was
  // not granted, does nothing.
  void cancel(std::optional<Instant> now = std::nullopt);
  // The call turned out to cost `actual`: gives the rest back, or takes what was missing though it
  // may not be there, in the window that was charged. Once, as cancel().
  void settle(std::uint64_t actual, std::optional<Instant> now = std::nullopt);

 private:
  friend class library::Core;
  library::Core* core_ = nullptr;
  std::uint64_t cost_ = 0;
  std::uint64_t order_ = 0;  // among all that took or wait
  std::uint64_t generation_ = 0;
  Instant charged_at_;
  Verdict verdict_;
};

// A place in a limiter's queue, for those who bring their own way to wait (weir/asio.h). Destroying
// one that was not admitted, or has not learned of it by poll(), gives back what it held: those
// behind it move up.
// THREADS: one at a time; `changed` runs on any thread, under the limiter's lock: it must only wake
// somebody, and must not call the limiter.
class WEIR_API Waiter {
 public:
  Waiter(Waiter&& other) noexcept;
  Waiter& operator=(Waiter&& other) noexcept;
  ~Waiter();

  enum class State : std::uint8_t { kWaiting, kAdmitted, kRefused };

  // Looks whether it is this one's turn. kRefused: never, or not by the deadline.
  State poll(Instant now);
  // When to poll() again at the latest, on the steady timeline; sooner when `changed` runs.
  std::int64_t wake_at_ns() const;
  // After kAdmitted or kRefused: the decision.
  const Verdict& verdict() const;

 private:
  friend class library::Core;
  Waiter(library::Core* core, std::unique_ptr<library::Waiting> waiting);
  library::Core* core_ = nullptr;
  std::unique_ptr<library::Waiting> waiting_;
};

class WEIR_API Limiter {
 public:
  // ERRORS: kInvalid for numbers that cannot be held (from empty to full in more than 100 years),
  // no numbers at all, or more than 64 sets; kUnsupported for an algorithm that is not built.
  static Result<Limiter> make(const Numbers& numbers, const LimiterOptions& options = {});
  // Several sets of numbers: all admit and all are charged, or none is. The verdict is that of the
  // set with the longest wait, or, when admitted, with the least share left.
  static Result<Limiter> make(const std::vector<Numbers>& numbers,
                              const LimiterOptions& options = {});

  Limiter(Limiter&& other) noexcept;
  Limiter& operator=(Limiter&& other) noexcept;
  ~Limiter();

  // Takes `cost` tokens if all are there. Cost 0 takes nothing and is always admitted.
  bool allow(std::uint64_t cost = 1);
  bool allow(std::uint64_t cost, Instant now);
  Verdict check(std::uint64_t cost = 1);
  Verdict check(std::uint64_t cost, Instant now);

  // Takes as many as there are, at most `most`.
  Portion allow_at_most(std::uint64_t most, std::optional<Instant> now = std::nullopt);

  // What is left. Takes nothing.
  Verdict peek(std::optional<Instant> now = std::nullopt);

  // Takes tokens ahead of time, where that means a delay of at most `most_delay`. Buckets only can
  // promise tokens of the future: a window grants what is free now. A bucket's reservations reach
  // 100 years ahead at most.
  Ticket reserve(std::uint64_t cost, Duration most_delay = Duration::max(),
                 std::optional<Instant> now = std::nullopt);

  // Waits for the tokens, first come, first served; each waiting thread is woken once, when its
  // turn has come. Refused without waiting where it is known that the turn comes after `deadline`
  // (on the steady timeline of the limiter's clock), or never; nothing is taken then. Where only a
  // bound of the turn is known (concurrency), it waits until the deadline.
  Verdict acquire(std::uint64_t cost = 1);
  Verdict acquire_until(Instant deadline, std::uint64_t cost = 1);
  // The same, for those who wait by other means. `changed`: see Waiter.
  Waiter queue(std::uint64_t cost, std::optional<Instant> deadline, std::function<void()> changed,
               std::optional<Instant> now = std::nullopt);

  // Gives tokens back; never above full, and as Ticket::cancel() with those whose turn is ahead.
  void refund(std::uint64_t cost, std::optional<Instant> now = std::nullopt);
  // Corrects what a ticket cost: Ticket::settle().
  void settle(Ticket& ticket, std::uint64_t actual, std::optional<Instant> now = std::nullopt);
  // Takes tokens that may not be there: a bucket then owes them (100 years of refilling at most), a
  // window loses what it has left.
  void penalty(std::uint64_t cost, std::optional<Instant> now = std::nullopt);
  // Refuses every call that takes something, for this long (at most 100 years). 0 lifts it. Those
  // who wait keep their order; as it ends they find what the limiter holds by then, like anyone.
  // Who is refused meanwhile is told when the call is admitted after it, or never.
  void block(Duration duration, std::optional<Instant> now = std::nullopt);
  // As new: full, and not blocked. Those who wait keep their order.
  void reset(std::optional<Instant> now = std::nullopt);
  // Leaves exactly `tokens` (at most the quota). Windows: exact to what they can show, whole calls.
  void set_tokens(std::uint64_t tokens, std::optional<Instant> now = std::nullopt);
  void drain(std::optional<Instant> now = std::nullopt) { set_tokens(0, now); }

  // Changes the numbers, while others call. ERRORS: as make(); nothing changes then.
  Result<bool> update(const Numbers& numbers, Inherit inherit = Inherit::kAsIs,
                      std::optional<Instant> now = std::nullopt);
  Result<bool> update(const std::vector<Numbers>& numbers, Inherit inherit = Inherit::kAsIs,
                      std::optional<Instant> now = std::nullopt);

 private:
  explicit Limiter(std::unique_ptr<library::Core> core);
  std::unique_ptr<library::Core> core_;
};

}  // namespace weir
