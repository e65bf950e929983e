// LocalShare: what an instance decides by itself while the shared store does not answer, for limits
// that say `on_error: local`.
//
// Each of N instances keeps counters of its own, under a share of the numbers: rate / N, and burst,
// queue or limit / N, rounded down; burst and limit at least 1 (0 stays 0). Together they admit at
// most what the store would, plus one call each where a share was below 1. Counters start fresh
// when an outage begins, and are forgotten as they refill.
//
// THREADS: any.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "engine/pending.h"
#include "limit/rule.h"
#include "store/memory/memory_store.h"
#include "weir/numbers.h"

namespace weir::engine {

// One of `instances` shares of these numbers. REQUIRES: instances > 0.
Numbers share_of(const Numbers& numbers, std::uint32_t instances);

class LocalShare {
 public:
  // At least 1; what is less counts as it.
  void set_instances(std::uint32_t count);
  std::uint32_t instances() const { return instances_.load(std::memory_order_relaxed); }

  // Answers the charges whose outcome the store does not know and whose limit says `local`, all or
  // none of them. Leaves the request as it is where something else decides it: a definite denial,
  // or a failed limit that denies.
  void answer(Pending& pending);
  // The same for numbers that came with a call.
  void answer(const store::Charge& charge, Instant now, store::Answer& answer);

  // Corrects what answer() charged. The charges name the whole limits' rules.
  store::Correction correct(std::span<const store::Charge> charges, Instant now);

 private:
  using RulePtr = std::shared_ptr<const limit::Rule>;

  RulePtr rule_for(const limit::Rule& whole);

  static constexpr std::size_t kMaxRules = 200'000;

  std::atomic<std::uint32_t> instances_{1};
  store::MemoryStore store_;
  std::mutex mutex_;
  // By the whole rule's serial; all for the present number of instances. By mutex.
  std::unordered_map<std::uint64_t, RulePtr> rules_;
};

}  // namespace weir::engine
