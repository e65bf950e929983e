#include "library/cell.h"

namespace weir::library {

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
