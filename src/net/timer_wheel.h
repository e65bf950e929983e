// TimerWheel: many coarse deadlines on one timer.
//
// A connection has one Deadline and moves it at every step. Moving it later is a store; it is
// linked anew only when moved earlier or when its slot comes round. Slots are 10 ms apart, 1024 of
// them; a deadline beyond the last slot waits there and is looked at again when the slot comes.
// A deadline fires never more than the coarse clock's step (4 ms) early and about 20 ms late: for
// time limits, not for pacing.
//
// WHY not a timer per connection: re-arming one per request cost 16 % of an HTTP server's
// throughput. THREADS: one loop.

#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "net/asio.h"
#include "weir/time.h"

namespace weir::net {

class TimerWheel;

class Deadline : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  // `fire` runs on the loop, once for each time the deadline is set and passes. It may set this
  // deadline again, but not destroy it.
  Deadline(TimerWheel& wheel, std::function<void()> fire);

  void expires_after(Duration from_now);
  void cancel() { when_ = kNever; }
  bool is_set() const { return when_ != kNever; }

 private:
  friend class TimerWheel;
  static constexpr std::int64_t kNever = INT64_MAX;

  TimerWheel& wheel_;
  std::function<void()> fire_;
  std::int64_t when_ = kNever;  // tick
  std::int64_t slot_ = 0;       // the tick whose slot it is linked in
};

class TimerWheel {
 public:
  static constexpr std::int64_t kTickNs = 10'000'000;
  static constexpr std::int64_t kSlots = 1024;

  // Reads the coarse monotonic clock, or is told the time by set_now().
  TimerWheel();
  explicit TimerWheel(std::int64_t now_ns);

  // Attaches the timer that drives the wheel, or takes it away. Without one, advance() drives it.
  void attach(Executor executor);
  void detach();

  // Fires what is due at `now_ns`.
  void advance(std::int64_t now_ns);
  std::int64_t now_ns() const;
  void set_now(std::int64_t now_ns) { fixed_now_ns_ = now_ns; }

 private:
  friend class Deadline;
  using Slot = boost::intrusive::list<Deadline, boost::intrusive::constant_time_size<false>>;

  void link(Deadline& deadline);
  void arm();
  std::optional<std::int64_t> next_tick() const;
  void run_slot(std::int64_t tick);

  std::array<Slot, kSlots> slots_;
  std::array<std::uint64_t, kSlots / 64> occupied_{};
  std::optional<std::int64_t> fixed_now_ns_;
  std::int64_t done_;  // every tick up to here has run
  std::int64_t armed_ = Deadline::kNever;
  std::optional<SteadyTimer> timer_;
};

}  // namespace weir::net
