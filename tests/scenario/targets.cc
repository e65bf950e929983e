#include "scenario/targets.h"

#include <algorithm>
#include <vector>

namespace weir::scenario {
namespace {

// Whether the pair at `i`, and all that are charged with it, admit the call.
bool admit_together(std::span<const Met> met, std::size_t i, const std::vector<char>& admits) {
  while (met[i].with_before()) --i;
  do {
    if (admits[i] == 0) return false;
  } while (++i < met.size() && met[i].with_before());
  return true;
}

}  // namespace

Instant PureTarget::advance(Instant now) {
  if (!latest_ || now.steady_ns >= latest_->steady_ns) latest_ = now;
  return *latest_;
}

PureTarget::Counter& PureTarget::counter(const Met& met, Instant now) {
  const limit::Rule rule = *limit::Rule::make(met.numbers());
  const auto [it, fresh] =
      counters_.try_emplace({met.counter(), met.key}, Counter{rule, std::nullopt, {}});
  Counter& counter = it->second;
  if (fresh || counter.rule.numbers() == rule.numbers()) return counter;
  // A peek sees the key converted, and leaves it as it was.
  Counter& converted = met.cost == 0 ? peeked_.emplace_back(counter) : counter;
  if (rule.keeps_log()) {
    if (!rule.adopt(counter.rule, {}, now)) converted.log = {};
  } else if (counter.state) {
    converted.state = rule.adopt(counter.rule, *counter.state, now);
  }
  converted.rule = rule;
  return converted;
}

Verdict PureTarget::ask(Counter& counter, std::uint64_t cost, Instant now, bool charge) {
  if (counter.rule.keeps_log()) {
    const limit::LogStep step = counter.rule.decide(counter.log.view(), cost, now);
    if (charge) counter.log.apply(step, cost);
    return step.verdict;
  }
  const limit::State* state = counter.state ? &*counter.state : nullptr;
  const limit::Step step = counter.rule.decide(state, cost, now);
  if (charge && step.write) counter.state = step.next;
  return step.verdict;
}

Reply PureTarget::take(std::span<const Met> met, Instant now) {
  now = advance(now);
  Reply reply{true, {}};
  std::vector<char> admits;
  for (const Met& one : met) {
    admits.push_back(ask(counter(one, now), one.cost, now, false).allowed() ? 1 : 0);
    reply.admitted = reply.admitted && (admits.back() != 0 || one.limit->shadow);
  }
  for (std::size_t i = 0; i < met.size(); ++i) {
    const bool charged = reply.admitted && admit_together(met, i, admits);
    const std::uint64_t cost = charged || admits[i] == 0 ? met[i].cost : 0;
    reply.verdicts.push_back(ask(counter(met[i], now), cost, now, true));
  }
  return reply;
}

void PureTarget::correct(std::span<const Met> met, Change change, Instant now,
                         std::optional<Instant> charged_at) {
  now = advance(now);
  for (const Met& one : met) {
    Counter& mine = counter(one, now);
    if (mine.rule.keeps_log()) {
      correct_log(mine, change, one.cost, now, charged_at);
    } else if (change == Change::kOverdraw) {
      const limit::State* state = mine.state ? &*mine.state : nullptr;
      const auto next = mine.rule.overdraw(state, one.cost, now, charged_at);
      if (next) mine.state = next;
    } else if (change == Change::kRefund && mine.state) {
      mine.state = mine.rule.refund(*mine.state, one.cost, now, charged_at);
    }
  }
}

void PureTarget::correct_log(Counter& counter, Change change, std::uint64_t cost, Instant now,
                             std::optional<Instant> charged_at) {
  const bool flight = std::holds_alternative<Concurrency>(counter.rule.numbers());
  store::CallLog::Refund refund;
  refund.cost = cost;
  if (charged_at) refund.charged_at = charged_at->steady_ns;
  if (flight) refund.order = store::CallLog::Unknown::kOldest;
  refund.expired = counter.rule.decide(counter.log.view(), 0, now).expired;
  if (change == Change::kRefund) {
    counter.log.take_out(refund);
  } else if (change == Change::kRenew) {
    const std::uint64_t found = flight ? counter.log.take_out(refund) : 0;
    if (found > 0) counter.log.put_in(now.steady_ns, found);
  } else {
    const std::int64_t at = std::min(charged_at.value_or(now).steady_ns, now.steady_ns);
    const limit::State made{{0, static_cast<std::uint64_t>(at), 0}};
    if (!counter.rule.is_fresh(made, now)) counter.log.put_in(at, cost);
  }
}

void PureTarget::reset(std::span<const Met> met) {
  for (const Met& one : met) counters_.erase({one.counter(), one.key});
}

namespace {

// The charges of one request, and the rules that they point at.
struct Charges {
  std::vector<limit::Rule> rules;
  std::deque<std::string> counters;
  std::vector<store::Charge> all;

  Charges(std::span<const Met> met, std::optional<Instant> charged_at) {
    rules.reserve(met.size());
    for (const Met& one : met) {
      rules.push_back(*limit::Rule::make(one.numbers()));
      counters.push_back(one.counter());
      all.push_back({&rules.back(), counters.back(), one.key, one.cost, one.limit->shadow,
                     one.with_before(), charged_at});
    }
  }
};

}  // namespace

store::Change to_store(Change change) {
  switch (change) {
    case Change::kRefund:
      return store::Change::kGiveBack;
    case Change::kOverdraw:
      return store::Change::kTake;
    case Change::kRenew:
      break;
  }
  return store::Change::kRenew;
}

Reply StoreTarget::take(std::span<const Met> met, Instant now) {
  const Charges charges(met, std::nullopt);
  std::vector<store::Answer> answers(met.size());
  Reply reply;
  store_.charge(charges.all, now, answers,
                [&](store::Admission admission) { reply.admitted = admission.admitted; });
  for (const store::Answer& answer : answers) reply.verdicts.push_back(answer.verdict);
  return reply;
}

void StoreTarget::correct(std::span<const Met> met, Change change, Instant now,
                          std::optional<Instant> charged_at) {
  Charges charges(met, charged_at);
  for (store::Charge& charge : charges.all) charge.change = to_store(change);
  store_.correct(charges.all, std::nullopt, now, nullptr);
}

void StoreTarget::reset(std::span<const Met> met) {
  store_.reset(Charges(met, std::nullopt).all, nullptr);
}

}  // namespace weir::scenario
