#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/compiled_policy.h"
#include "engine/naming.h"

namespace weir::engine {
namespace {

using store::Answer;
using store::Charge;

constexpr std::size_t kKeyBytes = 120;  // room for the keys of most requests

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
};

// Everything that lives from the question to the answer. Reused by its thread, so that a decision
// allocates little more than what it hands out.
struct Pending {
  Decision decision;
  Instant now;
  std::vector<EntryId> candidates;
  std::vector<Met> met;
  std::vector<Charge> charges;
  std::vector<Answer> answers;
  Engine::Done done;

  void clear() {
    decision = Decision{};
    candidates.clear();
    met.clear();
    charges.clear();
    answers.clear();
    done = nullptr;
  }
};

// Pendings that this thread has used and may use again. Bounded.
class PendingPool {
 public:
  static std::unique_ptr<Pending> take() {
    auto& pool = instance();
    if (pool.empty()) return std::make_unique<Pending>();
    auto pending = std::move(pool.back());
    pool.pop_back();
    return pending;
  }
  static void give(std::unique_ptr<Pending> pending) {
    auto& pool = instance();
    pending->clear();
    if (pool.size() < kMax) pool.push_back(std::move(pending));
  }

 private:
  static constexpr std::size_t kMax = 64;
  static std::vector<std::unique_ptr<Pending>>& instance() {
    thread_local std::vector<std::unique_ptr<Pending>> pool;
    return pool;
  }
};

bool is_unlimited(const Counter& counter) {
  return algorithm_of(counter.rule.numbers()) == Algorithm::kUnlimited;
}

// Meets one limit: its key, its numbers, its cost. Nothing is added when the request lacks the key
// and the limit skips such requests.
void meet(const CompiledLimit& limit, RequestView& request, std::optional<std::uint64_t> cost,
          Pending& pending) {
  std::string& keys = pending.decision.keys;
  const std::size_t begin = keys.size();
  const policy::Missing missing = limit.written().missing;
  const auto outcome = limit.key().append(request, missing == policy::Missing::kShare, keys);
  const bool lacks_key = outcome == KeySpec::Outcome::kMissing;
  if (lacks_key) keys.resize(begin);
  if (lacks_key && missing == policy::Missing::kSkip) return;
  Met met;
  met.limit = &limit;
  met.key_begin = static_cast<std::uint32_t>(begin);
  met.key_size = static_cast<std::uint32_t>(keys.size() - begin);
  met.counters = &limit.counters(request, std::string_view(keys).substr(begin));
  met.cost = cost ? *cost : limit.cost(request);
  met.missing_key = lacks_key;
  pending.met.push_back(met);
}

void meet_all(const CompiledPolicy& policy, RequestView& request, std::optional<std::uint64_t> cost,
              Pending& pending) {
  policy.find_candidates(request, pending.candidates);
  const bool message = request.is_message();
  for (const EntryId id : pending.candidates) {
    const CompiledLimit& limit = policy.limits()[id];
    if (limit.for_messages() != message || !limit.applies(request)) continue;
    meet(limit, request, cost, pending);
  }
}

// Turns the limits met into charges. The keys no longer move.
void add_charges(Pending& pending) {
  const std::string_view keys = pending.decision.keys;
  for (Met& met : pending.met) {
    met.first = static_cast<std::uint32_t>(pending.charges.size());
    if (met.missing_key) continue;
    for (const Counter& counter : *met.counters) {
      if (is_unlimited(counter)) continue;
      Charge charge;
      charge.rule = &counter.rule;
      charge.counter = counter.name;
      charge.key = keys.substr(met.key_begin, met.key_size);
      charge.cost = met.cost;
      charge.shadow = met.limit->shadow();
      pending.charges.push_back(charge);
    }
    met.count = static_cast<std::uint32_t>(pending.charges.size()) - met.first;
  }
  pending.answers.resize(pending.charges.size());
}

policy::OnError on_error(const Pending& pending, const Met& met) {
  const auto own = met.limit->written().on_error;
  return own ? *own : pending.decision.policy->policy().store.on_error;
}

void set_counter(LimitDecision& one, const Counter& counter) {
  one.numbers = &counter.rule.numbers();
  one.policy_item = counter.policy_item;
}

LimitDecision describe(const Met& met) {
  LimitDecision one;
  one.limit = &met.limit->written();
  one.name = one.limit->name;
  one.shadow = met.limit->shadow();
  one.cost = met.cost;
  one.key_begin = met.key_begin;
  one.key_size = met.key_size;
  set_counter(one, met.counters->front());
  return one;
}

void set_missing_key(LimitDecision& one) {
  one.verdict.outcome = Outcome::kNever;
  one.reason = Reason::kMissingKey;
}

void set_failed(LimitDecision& one, policy::OnError mode) {
  const bool deny = mode == policy::OnError::kDeny;
  one.verdict = Verdict{};
  one.verdict.outcome = deny ? Outcome::kNever : Outcome::kAllowed;
  one.source = deny ? Source::kFailClosed : Source::kFailOpen;
  one.reason = deny ? Reason::kLimiterUnavailable : Reason::kNone;
}

// The limit's own verdict: of its pairs of numbers, the one that the contract's rule names.
LimitDecision judge(const Pending& pending, const Met& met) {
  LimitDecision one = describe(met);
  if (met.missing_key) {
    set_missing_key(one);
    return one;
  }
  if (met.count == 0) {  // unlimited
    one.verdict.quota = one.verdict.remaining = met.counters->front().rule.quota();
    return one;
  }
  std::uint32_t place = met.first;
  bool first = true;
  bool failed = false;
  for (const Counter& counter : *met.counters) {
    if (is_unlimited(counter)) continue;
    const Answer& answer = pending.answers[place++];
    failed = failed || !answer.known;
    if (!answer.known) continue;
    if (!first && !is_named_over(answer.verdict, one.verdict)) continue;
    first = false;
    one.verdict = answer.verdict;
    one.source = answer.source;
    set_counter(one, counter);
  }
  if (failed && one.verdict.allowed()) set_failed(one, on_error(pending, met));
  const bool never = one.known() && one.verdict.outcome == Outcome::kNever;
  if (never && met.cost > one.verdict.quota) one.reason = Reason::kCostExceedsLimit;
  return one;
}

// Whether the store itself said no, or the request lacks a key that it must have.
bool is_definite_denial(const LimitDecision& one) {
  return !one.verdict.allowed() && one.known();
}

// The place of the limit that the decision names, among those that `may`; -1: none.
template <typename May>
int find_named(const std::vector<LimitDecision>& limits, May may) {
  int named = -1;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitDecision& one = limits[i];
    if (one.shadow || one.unlimited() || !may(one)) continue;
    if (named < 0 || is_named_over(one.verdict, limits[named].verdict)) {
      named = static_cast<int>(i);
    }
  }
  return named;
}

// A definite denial beats a failure; a failure that denies beats one that allows.
void conclude(Decision& decision) {
  decision.named = find_named(decision.limits, is_definite_denial);
  if (decision.named < 0) {
    decision.named = find_named(decision.limits,
                                [](const LimitDecision& one) { return !one.verdict.allowed(); });
  }
  decision.allowed = decision.named < 0;
  if (decision.allowed) {
    decision.named =
        find_named(decision.limits, [](const LimitDecision& one) { return one.known(); });
  }
  if (const LimitDecision* named = decision.named_limit()) {
    decision.reason = named->reason;
    decision.source = named->source;
  }
  for (const LimitDecision& one : decision.limits) {
    if (!decision.allowed || one.shadow) continue;
    if (one.source == Source::kFailOpen) decision.source = Source::kFailOpen;
    decision.delay = std::max(decision.delay, one.verdict.delay);
  }
}

// What was charged before another limit's store failed is given back.
void refund_charged(store::Store& store, const Pending& pending, Instant charged_at) {
  std::vector<Charge> charged;
  for (std::size_t i = 0; i < pending.charges.size(); ++i) {
    const Answer& answer = pending.answers[i];
    const bool taken = answer.known && answer.verdict.allowed() && pending.charges[i].cost > 0;
    if (taken) charged.emplace_back(pending.charges[i]).charged_at = charged_at;
  }
  if (!charged.empty()) store.refund(charged, pending.now);
}

void count(const Pending& pending, const Decision& decision) {
  for (std::size_t i = 0; i < pending.met.size(); ++i) {
    LimitCounters* counting = pending.met[i].limit->counting();
    if (counting == nullptr) continue;
    const LimitDecision& one = decision.limits[i];
    counting->count(one.verdict, one.source, one.shadow, decision.allowed);
  }
}

// `admission`: what the store said of the charges whose outcome is known.
void finish(store::Store& store, std::unique_ptr<Pending> pending, store::Admission admission) {
  Decision& decision = pending->decision;
  decision.limits.reserve(pending->met.size());
  for (const Met& met : pending->met) decision.limits.push_back(judge(*pending, met));
  conclude(decision);
  count(*pending, decision);
  decision.at = admission.at;
  if (admission.admitted && !decision.allowed) refund_charged(store, *pending, admission.at);
  const Engine::Done done = std::move(pending->done);
  Decision answer = std::move(decision);
  PendingPool::give(std::move(pending));
  done(std::move(answer));
}

// Requests that no store is asked about.
void answer_at_once(std::unique_ptr<Pending> pending) {
  const Engine::Done done = std::move(pending->done);
  Decision answer = std::move(pending->decision);
  PendingPool::give(std::move(pending));
  done(std::move(answer));
}

// Whether an enforcing limit refuses before the store is asked: then nothing is charged.
bool lacks_a_key(const Pending& pending) {
  for (const Met& met : pending.met) {
    if (met.missing_key && !met.limit->shadow()) return true;
  }
  return false;
}

void keep_missing_keys_only(Pending& pending) {
  std::erase_if(pending.met, [](const Met& met) { return !met.missing_key; });
}

}  // namespace

Engine::Engine(store::Store& store, metrics::Registry* registry)
    : store_(store), registry_(registry) {}
Engine::~Engine() = default;

Result<bool> Engine::install(policy::Policy policy) {
  auto compiled = CompiledPolicy::make(std::move(policy), registry_);
  if (!compiled) return compiled.error();
  current_.store(std::move(*compiled), std::memory_order_release);
  return true;
}

std::shared_ptr<const CompiledPolicy> Engine::current() const {
  return current_.load(std::memory_order_acquire);
}

void Engine::decide(const Attributes& attributes, Instant now, std::optional<std::uint64_t> cost,
                    Done done) {
  auto pending = PendingPool::take();
  pending->done = std::move(done);
  pending->now = now;
  Decision& decision = pending->decision;
  decision.at = now;
  decision.policy = current();
  WEIR_CHECK(decision.policy != nullptr, "install() comes before decide()");
  const CompiledPolicy& policy = *decision.policy;
  RequestView request(attributes, policy.policy().paths);
  if (!policy.policy().enabled || policy.is_exempt(request)) {
    decision.source = Source::kExempt;
    answer_at_once(std::move(pending));
    return;
  }
  decision.keys.reserve(kKeyBytes);
  meet_all(policy, request, cost, *pending);
  if (lacks_a_key(*pending)) keep_missing_keys_only(*pending);
  add_charges(*pending);
  if (pending->charges.size() > store::kMaxCharges) {
    decision.allowed = false;
    decision.reason = Reason::kLimiterUnavailable;
    decision.source = Source::kFailClosed;
    answer_at_once(std::move(pending));
    return;
  }
  if (pending->charges.empty()) {
    finish(store_, std::move(pending), {true, now});
    return;
  }
  Pending* raw = pending.release();
  store_.charge(raw->charges, now, raw->answers, [this, raw](store::Admission admission) {
    finish(store_, std::unique_ptr<Pending>(raw), admission);
  });
}

}  // namespace weir::engine
