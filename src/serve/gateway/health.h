// Health: whether requests may go to one server of a group.
//
// Two things put it out, each by itself:
//
//   requests  `failures` of them in a row got no answer: out for base_time. Then one request is
//             lent to it. An answer brings it back; another failure puts it out for twice as long,
//             up to max_time.
//   checks    unhealthy_after failed in a row: out until healthy_after have passed in a row.
//
// Time is an argument: nanoseconds of one monotonic clock.
//
// THREADS: any. What every request asks and tells is a relaxed load, since nothing else hangs on
// it; the rest, where a server is in trouble, takes a lock.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "policy/policy.h"
#include "weir/time.h"

namespace weir::gateway {

class Health {
 public:
  // What an event has changed: for who tells people of it.
  enum class Change : std::uint8_t { kNone, kOut, kBack };

  Health(const policy::Ejection& eject, const std::optional<policy::HealthCheck>& check)
      : eject_(eject), check_(check) {}

  bool in() const { return !out_.load(std::memory_order_relaxed); }
  // Whether a server that is out takes one request now, to see whether it is well again. True once
  // each time its term is over: who is told so sends one.
  bool lend(std::int64_t now_ns);

  // A request has got an answer, or none for the server's fault.
  Change answered() {
    return troubled_.load(std::memory_order_relaxed) ? recover() : Change::kNone;
  }
  Change failed(std::int64_t now_ns);
  // A check has passed, or failed. REQUIRES: there are checks.
  Change checked(bool passed);

  // For how long it was put out last, for failed requests.
  Duration term() const;

  // How many requests it has, where somebody counts them.
  void enter() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void leave() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint32_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }

 private:
  Change recover();
  Change publish();

  const policy::Ejection eject_;
  const std::optional<policy::HealthCheck> check_;

  std::atomic<bool> out_{false};       // ejected_ or unhealthy_
  std::atomic<bool> troubled_{false};  // an answer would change something
  std::atomic<std::uint32_t> in_flight_{0};

  mutable std::mutex mutex_;    // of all below
  std::uint32_t failures_ = 0;  // in a row
  bool ejected_ = false;
  bool lent_ = false;  // the one request of this term is under way
  Duration term_{0};
  std::int64_t lend_at_ns_ = 0;
  bool unhealthy_ = false;
  std::uint32_t checks_ = 0;  // in a row that say the other thing than unhealthy_
};

}  // namespace weir::gateway
