#include "library/store_backend.h"

#include <algorithm>
#include <span>
#include <utility>

#include "library/combine.h"
#include "store/memory/takeover.h"

namespace weir::library {

StoreBackend::StoreBackend(std::vector<limit::Rule> rules)
    : rules_(std::move(rules)), store_(store::MemoryOptions{.max_keys = 2 * store::kMaxCharges}) {
  for (std::size_t i = 0; i < store::kMaxCharges; ++i) names_.push_back(std::to_string(i));
}

store::Charge StoreBackend::charge(std::size_t i, std::uint64_t cost) const {
  store::Charge charge;
  charge.rule = &rules_[i];
  charge.counter = names_[i];
  charge.cost = cost;
  return charge;
}

StoreBackend::Charges StoreBackend::charges(std::uint64_t cost) const {
  Charges charges;
  for (std::size_t i = 0; i < rules_.size(); ++i) charges.push_back(charge(i, cost));
  return charges;
}

Backend::Taken StoreBackend::take(std::uint64_t cost, Instant now) {
  const Charges asked = charges(cost);
  Answers answers(asked.size());
  const store::Admission admission = store_.charge_now(asked, now, answers);
  return Taken{combined(answers, admission.admitted), admission.at};
}

std::uint64_t StoreBackend::left(Instant now) {
  return least_left(answers(0, now));
}

Verdict StoreBackend::look(std::uint64_t cost, Instant now) {
  return combined(answers(cost, now), false);
}

StoreBackend::Answers StoreBackend::answers(std::uint64_t cost, Instant now) {
  const Charges asked = charges(cost);
  Answers told(asked.size());
  store_.look_now(asked, now, told);
  return told;
}

Backend::Taken StoreBackend::reserve(std::uint64_t cost, Duration most_delay, Instant now) {
  Taken taken = take(cost, now);
  if (!taken.verdict.allowed() || taken.verdict.delay <= most_delay) return taken;
  give_back(cost, taken.at, taken.at);
  taken.verdict.outcome = Outcome::kDenied;
  taken.verdict.retry_after = taken.verdict.delay - most_delay;
  taken.verdict.delay = Duration(0);
  return taken;
}

void StoreBackend::give_back(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) {
  Charges back = charges(cost);
  for (store::Charge& one : back) one.charged_at = charged_at;
  store_.refund(back, now);
}

void StoreBackend::take_anyway(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) {
  if (charged_at) {
    Charges more = charges(cost);
    for (store::Charge& one : more) {
      one.charged_at = charged_at;
      one.change = store::Change::kTake;
    }
    store_.correct_now(more, std::nullopt, now);
    return;
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Verdict left = take_one(i, 0, now);
    take_one(i, std::min(cost, left.remaining), now);
  }
}

void StoreBackend::set_left(std::uint64_t tokens, Instant now) {
  for (std::size_t i = 0; i < rules_.size(); ++i) set_one(i, tokens, now);
}

void StoreBackend::reset(Instant) {
  store_.reset(charges(0), nullptr);
}

void StoreBackend::update(std::vector<limit::Rule> rules, Inherit inherit, Instant now) {
  // Sets that are no longer there would be found again if they came back.
  const std::size_t kept = inherit == Inherit::kReset ? 0 : std::min(rules.size(), rules_.size());
  const Charges gone = charges(0);
  store_.reset(std::span<const store::Charge>(gone).subspan(kept), nullptr);
  rules_ = std::move(rules);
  const store::Takeover takeover{inherit, [](const limit::Rule&) { return true; }};
  for (std::size_t i = 0; i < kept; ++i) take_one(i, 0, now, &takeover);
}

Verdict StoreBackend::take_one(std::size_t i, std::uint64_t cost, Instant now,
                               const store::Takeover* takeover) {
  const store::Charge one = charge(i, cost);
  store::Answer answer;
  store_.charge_now(std::span(&one, 1), now, std::span(&answer, 1), std::span(&takeover, 1));
  return answer.verdict;
}

void StoreBackend::set_one(std::size_t i, std::uint64_t tokens, Instant now) {
  const Verdict seen = take_one(i, 0, now);
  const std::uint64_t wanted = std::min(tokens, seen.quota);
  if (wanted <= seen.remaining) {
    take_one(i, seen.remaining - wanted, now);
    return;
  }
  const store::Charge back = charge(i, wanted - seen.remaining);
  store_.refund(std::span(&back, 1), now);
}

}  // namespace weir::library
