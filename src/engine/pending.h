// Pending: one request on its way through the engine, from the question to the answer.
//
// THREADS: one request, one thread; the pool is each thread's own.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/at_rest.h"
#include "engine/compiled_policy.h"
#include "engine/engine.h"
#include "store/store.h"

namespace weir::engine {

// One limit on its way to the store: its charges are [first, first + count).
struct Met {
  const CompiledLimit* limit = nullptr;
  const CounterSet* counters = nullptr;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t key_begin = 0;
  std::uint32_t key_size = 0;
  std::uint64_t cost = 1;
  bool missing_key = false;  // and the limit says `missing: deny`
  Duration ban_left{0};      // the key is banned for so long

  // Whether the limit says no by itself, so that the store is not asked.
  bool refused() const { return missing_key || ban_left > Duration{0}; }
};

// Everything that lives from the question to the answer. Reused by its thread, so that a decision
// allocates little more than what it hands out.
struct Pending {
  Decision decision;
  Instant now;
  std::vector<EntryId> candidates;
  std::vector<Met> met;
  std::vector<store::Charge> charges;
  std::vector<store::Answer> answers;
  Engine::Done done;
  const Attributes* attributes = nullptr;  // of the request; null where a limit is asked by name

  // Keeps the policy, for PendingPool to look at.
  void clear() {
    auto policy = std::move(decision.policy);
    decision.clear();
    decision.policy = std::move(policy);
    candidates.clear();
    met.clear();
    charges.clear();
    answers.clear();
    done = nullptr;
    attributes = nullptr;
  }
};

// Those at rest hold the policy in force, so that a decision counts no share of it; those of the
// one before are let go of once their thread decides by the next.
class PendingPool {
 public:
  using Policy = std::shared_ptr<const CompiledPolicy>;

  static std::unique_ptr<Pending> take(const Policy& policy) {
    hold(policy.get());
    auto pending = AtRest<Pending>::take();
    if (pending->decision.policy != policy) pending->decision.policy = policy;
    return pending;
  }
  static void give(std::unique_ptr<Pending> pending) {
    if (pending->decision.policy.get() != held_) pending->decision.policy = nullptr;
    AtRest<Pending>::give(std::move(pending));
  }
  // From now on this thread's hold no other policy.
  static void hold(const CompiledPolicy* policy) {
    if (held_ == policy) return;
    AtRest<Pending>::free_all();
    held_ = policy;
  }

 private:
  static inline thread_local const CompiledPolicy* held_ = nullptr;
};

// Whether a counter needs no store.
inline bool is_unlimited(const Counter& counter) {
  return algorithm_of(counter.rule.numbers()) == Algorithm::kUnlimited;
}

// What the limit says of a store that fails, or the store's own word where it says nothing.
inline policy::OnError on_error(const Pending& pending, const Met& met) {
  const auto own = met.limit->written().on_error;
  return own ? *own : pending.decision.policy->policy().store.on_error;
}

}  // namespace weir::engine
