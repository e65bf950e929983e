#include "engine/receipt.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
void Charged::add(TakenFrom one, std::string_view counter, std::string_view key) {
  one.counter_begin = static_cast<std::uint32_t>(text.size());
  one.counter_size = static_cast<std::uint32_t>(counter.size());
  text += counter;
  // Limits that count by the same values mostly stand side by side.
  const bool again = !taken.empty() && this->key(taken.back()) == key;
  one.key_begin = again ? taken.back().key_begin : static_cast<std::uint32_t>(text.size());
  one.key_size = static_cast<std::uint32_t>(key.size());
  if (!again) text += key;
  taken.push_back(one);
}

const Counter* find_counter(const CompiledPolicy& policy, std::string_view name,
                            std::string_view key, std::uint32_t shape,
                            const policy::Limit*& limit) {
  const CompiledLimit* found = policy.find_limit(name.substr(0, name.find_first_of("@#")));
  if (found == nullptr) return nullptr;
  limit = &found->written();
  const Counter* counter = found->find_counter(name, key);
  return counter != nullptr && counter->shape == shape ? counter : nullptr;
}

Receipt Receipt::of(const Decision& decision) {
  std::shared_ptr<Charged> charged;
  for_each_charged(decision, [&](const LimitDecision& one, const Counter& counter) {
    if (!charged) charged = std::make_shared<Charged>();
    TakenFrom taken;
    taken.rule = &counter.rule;
    taken.limit = one.limit;
    taken.cost = one.cost;
    taken.apart = one.apart;
    taken.local = one.source == Source::kLocal;
    charged->add(taken, counter.name, decision.key_of(one));
  });
  if (!charged) return {};
  charged->rules = decision.policy;
  charged->at = charged->places_at = decision.at;
  charged->local_at = decision.local_at;
  return Receipt(std::move(charged));
}

Receipt Receipt::of_adhoc(const TokenBucket& numbers, std::string_view family, std::string_view key,
                          std::uint64_t cost, Instant at) {
  TokenBucket counted = numbers;
  counted.keeps_time = true;
  auto made = limit::Rule::make(counted);
  if (!made || cost == 0) return {};
  auto rule = std::make_shared<const limit::Rule>(*std::move(made));
  auto charged = std::make_shared<Charged>();
  TakenFrom taken;
  taken.rule = rule.get();
  taken.cost = cost;
  charged->add(taken, family, key);
  charged->rules = std::move(rule);
  charged->at = charged->places_at = at;
  return Receipt(std::move(charged));
}

bool Receipt::has_places() const {
  return !empty() && std::any_of(charged_->taken.begin(), charged_->taken.end(),
                                 [](const TakenFrom& one) { return one.is_place(); });
}

Duration Receipt::shortest_timeout() const {
  Duration shortest = Duration::max();
  if (empty()) return shortest;
  for (const TakenFrom& one : charged_->taken) {
    const auto* calls = std::get_if<Concurrency>(&one.rule->numbers());
    if (calls != nullptr) shortest = std::min(shortest, calls->timeout);
  }
  return shortest;
}

}  // namespace weir::engine
