// Bias: lets one thread enter without a locked instruction, until another wants in.
//
// The owner comes and goes by plain stores. Who else wants in takes the ownership away: he writes
// so, has the kernel run a barrier on every processor that runs this process (membarrier), and
// looks whether the owner is inside. Either the owner sees that he is none any more, or the other
// sees him inside and waits until he has left: some nanoseconds, if he runs.
//
// WHY: a locked compare-and-swap is the better part of a decision (12 to 25 ns), and most limiters
// are used by one thread. A change of owner costs some microseconds, so there are a few at most;
// afterwards nobody owns it, and all use locked instructions.
//
// After Dice, Huang and Yang, "Asymmetric Dekker Synchronization". Where the kernel has no
// membarrier, and on other processors than x86-64, nobody ever owns anything: same answers.
//
// THREADS: enter() from any, leave() after it; the rest under the lock of whoever shares it.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weir {

class Bias {
 public:
  static constexpr int kMaxOwners = 4;

  // Whether there can be owners. The first call of a process may take some milliseconds, in which
  // the kernel makes ready.
  static bool available();

  // True for the owner, who must leave() soon, and not come again before.
  bool enter() {
    const std::uintptr_t owner = owner_.load(std::memory_order_relaxed);
    const std::uintptr_t number = owner ^ self();
    if (number >= kMaxOwners) return false;
    inside_[number].store(true, std::memory_order_relaxed);
    // For the compiler; the processor's barrier comes from the one who takes the ownership away.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_relaxed) == owner) return true;
    inside_[number].store(false, std::memory_order_release);
    return false;
  }
  void leave() { inside_[owners_ - 1].store(false, std::memory_order_release); }

  bool owned() const { return owner_.load(std::memory_order_relaxed) != kNobody; }
  // Makes the calling thread the owner, if there may be one more. REQUIRES: !owned().
  bool claim();
  // Nobody is the owner afterwards, and who was has left. REQUIRES: owned(); not inside.
  void revoke();

 private:
  static constexpr std::uintptr_t kNobody = 0;

  // Names the calling thread among those that live; the low bits are clear, as glibc aligns what it
  // points to by 64 bytes.
  static std::uintptr_t self() {
#if defined(__x86_64__) && defined(__linux__)
    std::uintptr_t pointer;
    asm("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
#else
    return 64;
#endif
  }

  std::atomic<std::uintptr_t> owner_{kNobody};  // the thread, and how many there were before it
  // WHY one of each owner: one that was taken off its processor on its way in still writes there
  // when the next has long come.
  std::array<std::atomic<bool>, kMaxOwners> inside_{};
  int owners_ = 0;                   // so far
  std::uintptr_t before_ = kNobody;  // the last of them, unless it was taken away
};

}  // namespace weir
