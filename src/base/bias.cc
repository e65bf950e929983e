#include "base/bias.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "base/check.h"

namespace weir {
namespace {

bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool Bias::available() {
#if defined(__x86_64__) && defined(__linux__)
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return registered;
#else
  return false;
#endif
}

// Who comes back for it is no further owner.
bool Bias::claim() {
  if (before_ != self()) {
    if (owners_ == kMaxOwners || !available()) return false;
    ++owners_;
    before_ = self();
  }
  owner_.store(self() | static_cast<std::uintptr_t>(owners_ - 1), std::memory_order_relaxed);
  return true;
}

void Bias::revoke() {
  const bool mine = (owner_.load(std::memory_order_relaxed) ^ self()) < kMaxOwners;
  owner_.store(kNobody, std::memory_order_relaxed);
  if (mine) return;
  before_ = kNobody;
  // A child of fork() must say again that it will ask.
  const bool ran = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
                   (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
  WEIR_CHECK(ran, "the kernel ran membarrier when the owner registered");
  // The owner is inside for some nanoseconds, unless it was taken off its processor: let it run.
  while (inside_[owners_ - 1].load(std::memory_order_acquire)) std::this_thread::yield();
}

}  // namespace weir
