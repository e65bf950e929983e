#include "library/cell.h"

namespace weir::library {

std::optional<Level> Cell::close() {
  for (;;) {
    const Words read{time_.load(std::memory_order_acquire), word_.load(std::memory_order_acquire)};
    if ((read.word & kClosed) != 0) return std::nullopt;
    // Takers succeed at most kMostTries times each before they come to the lock that we hold.
    if (swap(read, Words{read.time, read.word | kClosed})) {
      return Level{read.time, read.word & kDebtMask};
    }
  }
}

void Cell::open(const Shape& shape, const Level& level) {
  if (!kCellsOpen || shape.capacity() > kDebtMask || level.debt > kDebtMask) return;
  const Words closed{time_.load(std::memory_order_acquire), word_.load(std::memory_order_acquire)};
  const std::int64_t time = std::max(level.time, closed.time);
  std::uint64_t turn = 0;
  if (time == closed.time) {
    turn = ((closed.word & ~kClosed) >> kDebtBits) + 1;
    if (turn > kMostTurns) return;
  }
  burst_.store(shape.burst, std::memory_order_release);
  step_.store(shape.step, std::memory_order_release);
  unit_.store(shape.unit, std::memory_order_release);
  capacity_.store(static_cast<std::uint64_t>(shape.capacity()), std::memory_order_release);
  full_ns_.store(static_cast<std::uint64_t>(shape.full_ns), std::memory_order_release);
  swap(closed, Words{time, (turn << kDebtBits) | static_cast<std::uint64_t>(level.debt)});
}

}  // namespace weir::library
