// Cell: one token bucket in sixteen bytes, changed by one compare-and-swap, without a lock; or, for
// as long as one thread alone takes from it, without even that (bias.h).
//
//   time   64 bits   the latest moment told, ns: earlier samples count as it
//   word   64 bits   [ closed: 1 | turn: 8 | debt: 55 ]   the debt in ticks of 1/unit ns
//
// WHY time and debt, not the one arrival time of GCRA: the debt of a bucket is bounded by its
// capacity while time is not, so that ticks finer than a nanosecond fit for ever, and the latest
// sample is kept exactly (a late sample can neither take twice nor be refused falsely).
//
// The numbers may be changed while others take: the owner closes the cell (takers then go to his
// lock), writes the numbers, and opens it again. That a taker who read the old numbers cannot
// succeed afterwards: his swap expects what he read, and every opening leaves (time, turn) above
// what it was; `time` only rises, and `turn` counts the openings since it last did. A cell that has
// used up its turns at one instant stays closed until time goes on.
//
// A cell that has an owner is closed to all others, who go to the lock and take it from him.
//
// Needs a 16-byte compare-and-swap; where there is none the cell stays closed, and all go to the
// lock: slower, same answers. Cells hold buckets of less than 2^55 ticks from empty to full.
//
// THREADS: take() from any; open(), close() under the owner's lock.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/bias.h"
#include "library/bucket.h"

namespace weir::library {

#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
inline constexpr bool kCellsOpen = true;
#else
inline constexpr bool kCellsOpen = false;
#endif

class Cell {
 public:
  enum class Taken : std::uint8_t { kYes, kNo, kAskOwner };

  // What a taker saw and left behind: for those who report more than yes or no.
  struct Seen {
    std::int64_t time = 0;
    std::uint64_t debt = 0;  // after the call
    std::uint64_t burst = 0;
    std::uint64_t step = 1;
    std::uint64_t unit = 0;
  };

  // Takes `cost` tokens if they are there. REQUIRES: cost > 0.
  Taken take(std::uint64_t cost, std::int64_t now, Seen& seen) {
    if (!bias_.enter()) return take_shared(cost, now, seen);
    const Taken taken = take_alone(cost, now, seen);
    bias_.leave();
    return taken;
  }
  // WHY apart: what only take_shared() would write to memory need not be there for who is alone.
  Taken take(std::uint64_t cost, std::int64_t now) {
    if (!bias_.enter()) return take_shared(cost, now);
    Seen seen;
    const Taken taken = take_alone(cost, now, seen);
    bias_.leave();
    return taken;
  }

  // Makes all go to the owner; what the cell held, or nothing where it was closed already.
  std::optional<Level> close();

  // Puts the bucket back, if the cell can hold it; the calling thread becomes its owner, if it may
  // have one. REQUIRES: closed.
  void open(const Shape& shape, const Level& level);

 private:
  static constexpr unsigned kDebtBits = 55;
  static constexpr std::uint64_t kDebtMask = (std::uint64_t{1} << kDebtBits) - 1;
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kMaxTurns = 255;
  // A taker that lost this often goes to the owner, who closes the cell: nobody starves.
  static constexpr int kMaxTries = 64;

  struct Words {
    std::int64_t time;
    std::uint64_t word;
  };

  Words read() const {
    return {time_.load(std::memory_order_acquire), word_.load(std::memory_order_acquire)};
  }
  // What a call makes of the words, those of `seen` included.
  Words decide(const Words& from, std::uint64_t cost, std::int64_t now, Seen& seen,
               Taken& taken) const;
  Taken take_alone(std::uint64_t cost, std::int64_t now, Seen& seen);
  Taken take_shared(std::uint64_t cost, std::int64_t now, Seen& seen);
  Taken take_shared(std::uint64_t cost, std::int64_t now);
  bool swap(const Words& expected, const Words& wanted);
  bool unchanged(const Words& read) const {
    return word_.load(std::memory_order_acquire) == read.word &&
           time_.load(std::memory_order_acquire) == read.time;
  }

  alignas(64) std::atomic<std::int64_t> time_{limit::kEarliestNs};
  std::atomic<std::uint64_t> word_{kClosed};
  // Of the bucket inside. Written while closed; read as it is, proved by the swap.
  std::atomic<std::uint64_t> burst_{0};
  std::atomic<std::uint64_t> step_{1};
  std::atomic<std::uint64_t> unit_{0};
  std::atomic<std::uint64_t> capacity_{0};
  std::atomic<std::uint64_t> full_ns_{0};
  Bias bias_;
};

inline Cell::Words Cell::decide(const Words& from, std::uint64_t cost, std::int64_t now, Seen& seen,
                                Taken& taken) const {
  seen.burst = burst_.load(std::memory_order_acquire);
  seen.step = step_.load(std::memory_order_acquire);
  seen.unit = unit_.load(std::memory_order_acquire);
  const std::uint64_t capacity = capacity_.load(std::memory_order_acquire);
  const std::uint64_t full_ns = full_ns_.load(std::memory_order_acquire);
  Words next = from;
  std::uint64_t debt = from.word & kDebtMask;
  if (now > from.time) {
    const auto elapsed = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(from.time);
    // A debt above the capacity (reserved ahead) takes longer than full_ns: by the wide product.
    if (debt <= capacity) {
      const std::uint64_t back = elapsed < full_ns ? elapsed * seen.unit : debt;
      debt = back >= debt ? 0 : debt - back;
    } else {
      const Wide back = wide_product(elapsed, seen.unit);
      debt = back >= debt ? 0 : debt - static_cast<std::uint64_t>(back);
    }
    next.time = now;
    next.word = from.word & kClosed;
  } else {
    next.word &= ~kDebtMask;
  }
  const bool enough = cost <= seen.burst && debt + cost * seen.step <= capacity;
  taken = enough ? Taken::kYes : Taken::kNo;
  seen.debt = enough ? debt + cost * seen.step : debt;
  seen.time = next.time;
  next.word |= seen.debt;
  return next;
}

inline Cell::Taken Cell::take_alone(std::uint64_t cost, std::int64_t now, Seen& seen) {
  Taken taken;
  const Words next = decide(read(), cost, now, seen, taken);
  time_.store(next.time, std::memory_order_relaxed);
  word_.store(next.word, std::memory_order_relaxed);
  return taken;
}

}  // namespace weir::library
