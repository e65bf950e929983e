#include "engine/local_share.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace weir::engine {
namespace {

using store::Answer;
using store::Charge;

std::uint64_t amount_share(std::uint64_t amount, std::uint32_t instances) {
  return amount == 0 ? 0 : std::max<std::uint64_t>(amount / instances, 1);
}

// rate / N, exactly where the count divides or the longer period fits; else rounded down.
Rate rate_share(Rate rate, std::uint32_t instances) {
  if (rate.count % instances == 0) {
    rate.count /= instances;
    return rate;
  }
  const std::int64_t longest = std::numeric_limits<std::int64_t>::max() / instances;
  if (rate.period.count() <= longest) {
    rate.period *= instances;
  } else {
    rate.count /= instances;
  }
  return rate;
}

struct Share {
  std::uint32_t instances;

  Numbers operator()(TokenBucket numbers) const {
    numbers.rate = rate_share(numbers.rate, instances);
    numbers.burst = amount_share(numbers.burst, instances);
    return numbers;
  }
  Numbers operator()(LeakyBucket numbers) const {
    numbers.rate = rate_share(numbers.rate, instances);
    numbers.queue /= instances;  // a queue of 0 still admits a call at each slot
    return numbers;
  }
  template <typename Counted>
  Numbers operator()(Counted numbers) const {
    numbers.limit = amount_share(numbers.limit, instances);
    return numbers;
  }
  Numbers operator()(Unlimited numbers) const { return numbers; }
};

// Whether the store's answers decide the request without a word from the local share.
bool is_decided(const Pending& pending) {
  for (const Met& met : pending.met) {
    if (met.limit->shadow()) continue;
    for (std::uint32_t i = met.first; i < met.first + met.count; ++i) {
      const Answer& answer = pending.answers[i];
      if (answer.known && !answer.verdict.allowed()) return true;
      if (!answer.known && on_error(pending, met) == policy::OnError::kDeny) return true;
    }
  }
  return false;
}

// The places of the charges that are the local share's to answer.
std::vector<std::size_t> places_to_answer(const Pending& pending) {
  std::vector<std::size_t> places;
  for (const Met& met : pending.met) {
    if (on_error(pending, met) != policy::OnError::kLocal) continue;
    for (std::uint32_t i = met.first; i < met.first + met.count; ++i) {
      if (!pending.answers[i].known) places.push_back(i);
    }
  }
  return places;
}

}  // namespace

Numbers share_of(const Numbers& numbers, std::uint32_t instances) {
  return std::visit(Share{instances}, numbers);
}

void LocalShare::set_instances(std::uint32_t count) {
  const std::uint32_t next = std::max<std::uint32_t>(count, 1);
  std::lock_guard lock(mutex_);
  if (instances_.exchange(next, std::memory_order_relaxed) != next) rules_.clear();
}

LocalShare::RulePtr LocalShare::rule_for(const limit::Rule& whole) {
  std::lock_guard lock(mutex_);
  RulePtr& rule = rules_[whole.serial()];
  if (rule == nullptr) {
    // A share whose time from empty to full is past what a state can hold is counted by the whole.
    Result<limit::Rule> made = limit::Rule::make(share_of(whole.numbers(), instances()));
    rule = std::make_shared<const limit::Rule>(made ? *std::move(made) : whole);
  }
  const RulePtr found = rule;
  if (rules_.size() > kMaxRules) rules_.clear();
  return found;
}

void LocalShare::answer(const Charge& whole, Instant now, Answer& answer) {
  const RulePtr rule = rule_for(*whole.rule);
  Charge charge = whole;
  charge.rule = rule.get();
  store_.charge_now({&charge, 1}, now, {&answer, 1});
  answer.source = Source::kLocal;
}

void LocalShare::answer(Pending& pending) {
  const auto is_unknown = [](const Answer& answer) { return !answer.known; };
  if (std::none_of(pending.answers.begin(), pending.answers.end(), is_unknown)) return;
  if (is_decided(pending)) return;
  const std::vector<std::size_t> places = places_to_answer(pending);
  if (places.empty()) return;
  std::vector<RulePtr> rules;  // alive until the charge is decided
  std::vector<Charge> charges;
  std::vector<Answer> answers(places.size());
  std::size_t after = 0;  // the place behind the one before
  for (const std::size_t place : places) {
    rules.push_back(rule_for(*pending.charges[place].rule));
    Charge& charge = charges.emplace_back(pending.charges[place]);
    charge.rule = rules.back().get();
    charge.with_before = charge.with_before && place == after;
    after = place + 1;
  }
  pending.decision.instances = instances();
  pending.decision.local_at = store_.charge_now(charges, pending.now, answers).at;
  for (std::size_t i = 0; i < places.size(); ++i) {
    answers[i].source = Source::kLocal;
    pending.answers[places[i]] = answers[i];
  }
}

store::Correction LocalShare::correct(std::span<const Charge> whole, Instant now) {
  std::vector<RulePtr> rules;  // alive until the correction is made
  std::vector<Charge> charges(whole.begin(), whole.end());
  for (Charge& charge : charges) {
    rules.push_back(rule_for(*charge.rule));
    charge.rule = rules.back().get();
  }
  store::Correction made;
  store_.correct(charges, std::nullopt, now, [&made](store::Correction told) { made = told; });
  return made;
}

}  // namespace weir::engine
