// Entrance: into what one thread may use alone, by plain stores, and several by locked
// instructions.
//
// The first thread that comes has it for itself (bias.h). Another that comes waits until that one
// is out, and has it then; after a few such changes it is everybody's for ever, and each must mind
// the others. Until then at most one is inside, whatever it does there, locks included: so nobody
// ever changes by a plain store what another changes by a locked one.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <mutex>

#include "base/bias.h"

namespace weir {

class Entrance {
 public:
  // Being inside, from construction to destruction; not twice at once by one thread. Whoever is
  // inside waits for nobody who wants in.
  class Visit {
   public:
    explicit Visit(Entrance& entrance) : entrance_(entrance), alone_(entrance.enter()) {}
    ~Visit() {
      if (alone_) entrance_.bias_.leave();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    // Whether nobody else is inside, or comes in before this one is out.
    bool alone() const { return alone_; }

   private:
    Entrance& entrance_;
    const bool alone_;
  };

 private:
  bool enter() {
    if (bias_.enter()) return true;
    return !shared_.load(std::memory_order_acquire) && take_over();
  }
  bool take_over();

  Bias bias_;
  std::atomic<bool> shared_{false};
  std::mutex changing_;
};

}  // namespace weir
