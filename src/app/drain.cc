#include "app/drain.h"

#include <latch>
#include <memory>

namespace weir::app {

void drain_all(const std::vector<Drain>& drains) {
  // WHY shared: a loop may still be inside count_down() when wait() has returned.
  const auto left = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(drains.size()));
  for (const Drain& drain : drains) {
    drain([left] { left->count_down(); });
  }
  left->wait();
}

}  // namespace weir::app
