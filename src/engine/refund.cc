#include <algorithm>
#include <vector>

#include "engine/compiled_policy.h"
#include "engine/engine.h"

namespace weir::engine {

void Engine::refund(const Decision& decision, Instant now, std::optional<std::uint64_t> cost) {
  if (!decision.allowed) return;
  std::vector<store::Charge> charges;
  for (const LimitDecision& one : decision.limits) {
    // A shadow limit that would have refused took nothing; what a failed store's limit counted in
    // this instance stays counted.
    if (one.source == Source::kLocal) continue;
    const std::uint64_t back = std::min(one.cost, cost.value_or(one.cost));
    if (back == 0 || !one.known() || !one.verdict.allowed() || one.counters == nullptr) continue;
    for (const Counter& counter : *one.counters) {
      if (algorithm_of(counter.rule.numbers()) == Algorithm::kUnlimited) continue;
      store::Charge& charge = charges.emplace_back();
      charge.rule = &counter.rule;
      charge.counter = counter.name;
      charge.key = decision.key_of(one);
      charge.cost = back;
      charge.charged_at = decision.at;
    }
  }
  if (!charges.empty()) store_.refund(charges, now);
}

}  // namespace weir::engine
