// Pending: one request on its way through the engine, from the question to the answer.
//
// THREADS: one request, one thread; the pool is each thread's own.

#pragma once

#include <cstdint>
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

  void clear() {
    decision.clear();
    candidates.clear();
    met.clear();
    charges.clear();
    answers.clear();
    done = nullptr;
    attributes = nullptr;
  }
};

using PendingPool = AtRest<Pending>;

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
