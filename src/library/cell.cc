#include "library/cell.h"

namespace weir::library {

bool Cell::swap(const Words& expected, const Words& wanted) {
#if defined(__x86_64__) && defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
  const auto joined = [](const Words& words) {
    return (Wide{words.word} << 64) | static_cast<std::uint64_t>(words.time);
  };
  __extension__ typedef unsigned __int128 __attribute__((may_alias)) Both;
  return __sync_bool_compare_and_swap(reinterpret_cast<Both*>(&time_), joined(expected),
                                      joined(wanted));
#else
  (void)expected;
  (void)wanted;
  return false;
#endif
}

Cell::Taken Cell::take_shared(std::uint64_t cost, std::int64_t now, Seen& seen) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Words from = read();
    if ((from.word & kClosed) != 0) return Taken::kAskOwner;
    Taken taken;
    const Words next = decide(from, cost, now, seen, taken);
    const bool same = next.time == from.time && next.word == from.word;
    if (same ? unchanged(from) : swap(from, next)) return taken;
  }
  return Taken::kAskOwner;
}

Cell::Taken Cell::take_shared(std::uint64_t cost, std::int64_t now) {
  Seen seen;
  return take_shared(cost, now, seen);
}

std::optional<Level> Cell::close() {
  if (bias_.owned()) {
    bias_.revoke();
    const Words left = read();
    return Level{left.time, left.word & kDebtMask};
  }
  for (;;) {
    const Words open = read();
    if ((open.word & kClosed) != 0) return std::nullopt;
    // Takers succeed at most kMaxTries times each before they come to the lock that we hold.
    if (swap(open, Words{open.time, open.word | kClosed})) {
      return Level{open.time, open.word & kDebtMask};
    }
  }
}

void Cell::open(const Shape& shape, const Level& level) {
  if (!kCellsOpen || shape.capacity() > kDebtMask || level.debt > kDebtMask) return;
  const Words closed = read();
  const std::int64_t time = std::max(level.time, closed.time);
  const auto debt = static_cast<std::uint64_t>(level.debt);
  burst_.store(shape.burst, std::memory_order_release);
  step_.store(shape.step, std::memory_order_release);
  unit_.store(shape.unit, std::memory_order_release);
  capacity_.store(static_cast<std::uint64_t>(shape.capacity()), std::memory_order_release);
  full_ns_.store(static_cast<std::uint64_t>(shape.full_ns), std::memory_order_release);
  if (bias_.claim()) {
    // Nobody has seen an open cell yet: there is no swap to outdate.
    time_.store(time, std::memory_order_relaxed);
    word_.store(kClosed | debt, std::memory_order_relaxed);
    return;
  }
  std::uint64_t turn = 0;
  if (time == closed.time) {
    turn = ((closed.word & ~kClosed) >> kDebtBits) + 1;
    if (turn > kMaxTurns) return;
  }
  swap(closed, Words{time, (turn << kDebtBits) | debt});
}

}  // namespace weir::library
