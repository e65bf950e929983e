// StoreKeeper: what a memory store needs beside calls, on a thread of its own: counters that equal
// fresh are dropped though nobody calls, and a snapshot is written, at intervals and at the end.
//
// A snapshot that cannot be read is told of and moved to FILE.refused, so that neither the start
// fails nor the next snapshot takes its place.
//
// THREADS: start() and stop() from one; tend() from one at a time.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "policy/policy.h"
#include "store/memory/memory_store.h"

namespace weir::app {

class StoreKeeper {
 public:
  static constexpr Duration kSweepEvery = std::chrono::seconds(10);

  // REQUIRES: store and clock outlive it.
  StoreKeeper(store::MemoryStore& store, const Clock& clock,
              std::optional<policy::Snapshot> snapshot);
  ~StoreKeeper();
  StoreKeeper(const StoreKeeper&) = delete;
  StoreKeeper& operator=(const StoreKeeper&) = delete;

  void start();
  // Ends the thread and writes the last snapshot: call it when nobody uses the store any more.
  // Does nothing where start() was not called.
  void stop();

  // Does what is due by `now`; when there is something to do again, on the steady timeline.
  std::int64_t tend(Instant now);

 private:
  void run();
  void save(Instant now);

  store::MemoryStore& store_;
  const Clock& clock_;
  std::optional<policy::Snapshot> snapshot_;
  std::int64_t sweep_at_ = 0;
  std::int64_t save_at_ = 0;
  bool failing_ = false;  // the last snapshot could not be written
  Parking parking_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// The memory store of these settings, with the counters of its snapshot if there is one.
std::unique_ptr<store::MemoryStore> open_memory(const policy::Store& settings, Instant now);

}  // namespace weir::app
