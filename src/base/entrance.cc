#include "base/entrance.h"

namespace weir {

// Whether the calling thread is now inside alone; else the entrance is everybody's.
bool Entrance::take_over() {
  const std::lock_guard lock(changing_);
  if (shared_.load(std::memory_order_relaxed)) return false;
  if (bias_.owned()) bias_.revoke();
  if (bias_.claim()) return bias_.enter();
  shared_.store(true, std::memory_order_release);
  return false;
}

}  // namespace weir
