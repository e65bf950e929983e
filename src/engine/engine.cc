#include "engine/engine.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/seconds.h"
#include "engine/ban_book.h"
#include "engine/by_name.h"
#include "engine/compiled_policy.h"
#include "engine/judge.h"
#include "engine/local_share.h"
#include "engine/metrics.h"
#include "engine/pending.h"
#include "engine/receipt_id.h"

namespace weir::engine {
namespace {

using store::Answer;
using store::Charge;
using PolicyPtr = std::shared_ptr<const CompiledPolicy>;

constexpr std::size_t kKeyBytes = 120;  // room for the keys of most requests
constexpr std::size_t kMaxKeptKeyBytes = 4096;

// Whether the key is banned. A peek is none of a ban's business.
void look_for_ban(const BanBook& bans, Met& met, const Pending& pending) {
  const policy::Limit& limit = met.limit->written();
  if (!limit.ban || met.missing_key || met.cost == 0 || met.limit->shadow()) return;
  const std::string_view key(pending.decision.keys);
  met.ban_left = bans.left(limit.name, key.substr(met.key_begin, met.key_size), pending.now);
}

// Meets one limit: its key, its numbers, its cost. Nothing is added when the request lacks the key
// and the limit skips such requests.
void meet(const CompiledLimit& limit, RequestView& request, std::optional<std::uint64_t> cost,
          const BanBook& bans, Pending& pending) {
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
  look_for_ban(bans, met, pending);
  pending.met.push_back(met);
}

void meet_all(const CompiledPolicy& policy, RequestView& request, std::optional<std::uint64_t> cost,
              const BanBook& bans, Pending& pending) {
  policy.find_candidates(request, pending.candidates);
  const bool message = request.is_message();
  for (const EntryId id : pending.candidates) {
    const CompiledLimit& limit = policy.limits()[id];
    if (limit.for_messages() != message || !limit.applies(request)) continue;
    if (!request.can_release() && limit.counts_calls_in_flight()) continue;
    meet(limit, request, cost, bans, pending);
  }
}

// Turns the limits met into charges. The keys no longer move.
void add_charges(Pending& pending) {
  const std::string_view keys = pending.decision.keys;
  for (Met& met : pending.met) {
    met.first = static_cast<std::uint32_t>(pending.charges.size());
    if (met.refused()) continue;
    for (const Counter& counter : *met.counters) {
      if (is_unlimited(counter)) continue;
      Charge& charge = pending.charges.emplace_back();
      charge.rule = &counter.rule;
      charge.counter = counter.name;
      charge.key = keys.substr(met.key_begin, met.key_size);
      charge.cost = met.cost;
      charge.shadow = met.limit->shadow();
      charge.with_before = charge.shadow && met.count > 0;
      ++met.count;
    }
  }
  pending.answers.resize(pending.charges.size());
}

bool refuses(const Answer& answer) {
  return answer.known && !answer.verdict.allowed();
}

// What was charged before another limit's store failed is given back.
void refund_charged(store::Store& store, const Pending& pending, Instant charged_at) {
  std::vector<Charge> charged;
  for (const Met& met : pending.met) {
    const auto answers = std::span(pending.answers).subspan(met.first, met.count);
    // A shadow limit that would have refused took nothing by its other numbers either.
    if (std::any_of(answers.begin(), answers.end(), refuses)) continue;
    for (std::uint32_t i = met.first; met.cost > 0 && i < met.first + met.count; ++i) {
      const Answer& answer = pending.answers[i];
      if (!answer.known || answer.source == Source::kLocal) continue;
      charged.push_back(pending.charges[i]);
      charged.back().charged_at = charged_at + answer.apart;
    }
  }
  if (!charged.empty()) store.refund(charged, pending.now);
}

void set_blocked(const policy::Block& block, Decision& decision) {
  decision.allowed = false;
  decision.reason = block.ban ? Reason::kBanned : Reason::kBlocked;
  if (block.until_ns) decision.ban_left = Duration(*block.until_ns - decision.at.wall_ns);
}

// Every such request is refused: a line a minute says it.
void tell_too_many(std::size_t counters, Instant now) {
  constexpr std::int64_t kEveryNs = 60 * kNsPerSecond;
  static std::atomic<std::int64_t> told_ns{std::numeric_limits<std::int64_t>::min()};
  std::int64_t told = told_ns.load(std::memory_order_relaxed);
  if (told <= now.steady_ns && now.steady_ns - kEveryNs < told) return;
  if (!told_ns.compare_exchange_strong(told, now.steady_ns, std::memory_order_relaxed)) return;
  log::error("a request meets " + std::to_string(counters) + " counters, at most " +
             std::to_string(store::kMaxCharges) +
             " can be asked for one, and is refused; give limits a narrower match");
}

// Requests that no store is asked about.
void answer_at_once(std::unique_ptr<Pending> pending) {
  pending->done(std::move(pending->decision));
  PendingPool::give(std::move(pending));
}

// Whether somebody looks at what one key has left: that is no request. WHY one whose cost is 0 is:
// what it costs may be settled later.
bool is_look(const Pending& pending) {
  return pending.attributes == nullptr && pending.met.front().cost == 0;
}

// Whether an enforcing limit refuses before the store is asked: then nothing is charged.
bool is_refused(const Pending& pending) {
  for (const Met& met : pending.met) {
    if (met.refused() && !met.limit->shadow()) return true;
  }
  return false;
}

void keep_refusing_only(Pending& pending) {
  std::erase_if(pending.met, [](const Met& met) { return !met.refused(); });
}

// How often any engine was given a policy, or went.
std::atomic<std::uint64_t> installs{0};

// What a thread has of the engine that it asked last. A program has one, so it is seldom another's.
struct Seen {
  const Engine* engine = nullptr;
  std::uint64_t installs = 0;
  PolicyPtr policy;
};

// The engine's policy, as this thread holds it; good until the thread asks an engine again. WHY
// each has a share of its own: a load of the shared pointer takes a lock in it and counts a reader,
// four writes to one line of memory that all threads fight for, where this reads one number that
// only a reload writes. A thread lets go of the policy before when it asks again, or ends.
const PolicyPtr& of_this_thread(const Engine& engine,
                                const Published<const CompiledPolicy>& policy) {
  thread_local Seen seen;
  const std::uint64_t now = installs.load(std::memory_order_acquire);
  if (seen.engine != &engine || seen.installs != now) [[unlikely]] {
    seen = {&engine, now, policy.load()};
    PendingPool::hold(seen.policy.get());
  }
  return seen.policy;
}

}  // namespace

void Decision::clear() {
  policy.reset();
  allowed = true;
  named = -1;
  reason = Reason::kNone;
  source = Source::kMemory;
  limits.clear();
  ban_left = delay = Duration{0};
  at = local_at = Instant{};
  instances = 1;
  if (keys.capacity() > kMaxKeptKeyBytes) keys = {};
  keys.clear();
}

Engine::Engine(store::Store& store, metrics::Registry* registry)
    : store_(store),
      metrics_(registry == nullptr ? nullptr : Metrics::make(*registry)),
      local_(std::make_unique<LocalShare>()),
      ids_(std::make_unique<ReceiptIds>()),
      bans_(std::make_unique<BanBook>()) {}
Engine::~Engine() {
  installs.fetch_add(1, std::memory_order_release);  // the next may stand at this one's address
}

Result<std::shared_ptr<const CompiledPolicy>> Engine::prepare(policy::Policy policy) const {
  return CompiledPolicy::make(std::move(policy), metrics_.get());
}

void Engine::install(std::shared_ptr<const CompiledPolicy> policy) {
  const policy::Store& settings = policy->policy().store;
  if (settings.instances) local_->set_instances(*settings.instances);
  if (metrics_) metrics_->denied_keys().configure(policy->policy().metrics);
  current_.store(std::move(policy));
  installs.fetch_add(1, std::memory_order_release);
  current();  // so that this thread, too, lets go of the one before
}

Result<bool> Engine::install(policy::Policy policy) {
  auto compiled = prepare(std::move(policy));
  if (!compiled) return compiled.error();
  install(std::move(*compiled));
  return true;
}

std::shared_ptr<const CompiledPolicy> Engine::current() const {
  return of_this_thread(*this, current_);
}

const CompiledPolicy& Engine::glance() const {
  return *of_this_thread(*this, current_);
}

void Engine::set_instances(std::uint32_t count) {
  if (!current()->policy().store.instances) local_->set_instances(count);
}

std::uint32_t Engine::instances() const {
  return local_->instances();
}

void Engine::decide(const Attributes& attributes, Instant now, std::optional<std::uint64_t> cost,
                    Done done) {
  const PolicyPtr& in_force = of_this_thread(*this, current_);
  WEIR_CHECK(in_force != nullptr, "install() comes before decide()");
  auto pending = PendingPool::take(in_force);
  pending->done = std::move(done);
  pending->now = now;
  pending->attributes = &attributes;
  Decision& decision = pending->decision;
  decision.at = now;
  const CompiledPolicy& policy = *decision.policy;
  RequestView request(attributes, policy.policy().paths);
  if (!policy.policy().enabled || policy.is_exempt(request)) {
    decision.source = Source::kExempt;
    answer_at_once(std::move(pending));
    return;
  }
  if (const policy::Block* block = policy.find_block(request, now, pending->candidates)) {
    set_blocked(*block, decision);
    if (metrics_) metrics_->count_blocked(decision.reason);
    if (denied_) denied_(attributes, decision);
    answer_at_once(std::move(pending));
    return;
  }
  decision.keys.reserve(kKeyBytes);
  meet_all(policy, request, cost, *bans_, *pending);
  if (is_refused(*pending)) keep_refusing_only(*pending);
  add_charges(*pending);
  ask(std::move(pending));
}

void Engine::ask(std::unique_ptr<Pending> pending) {
  if (pending->charges.size() > store::kMaxCharges) {
    tell_too_many(pending->charges.size(), pending->now);
    pending->decision.allowed = false;
    pending->decision.reason = Reason::kLimiterUnavailable;
    pending->decision.source = Source::kFailClosed;
    answer_at_once(std::move(pending));
    return;
  }
  if (pending->charges.empty()) {
    const Instant now = pending->now;
    finish(std::move(pending), {true, now});
    return;
  }
  Pending* raw = pending.release();
  store_.charge(raw->charges, raw->now, raw->answers, [this, raw](store::Admission admission) {
    finish(std::unique_ptr<Pending>(raw), admission);
  });
}

void Engine::stand_in(const Charge& charge, Instant now, Answer& answer) {
  const policy::OnError mode = current()->policy().store.on_error;
  if (mode == policy::OnError::kLocal) return local_->answer(charge, now, answer);
  const bool deny = mode == policy::OnError::kDeny;
  answer.source = deny ? Source::kFailClosed : Source::kFailOpen;
  answer.verdict = Verdict{};
  answer.verdict.outcome = deny ? Outcome::kNever : Outcome::kAllowed;
  answer.verdict.quota = answer.verdict.remaining = charge.rule->quota();
}

// `admission`: what the store said of the charges whose outcome is known.
void Engine::finish(std::unique_ptr<Pending> pending, store::Admission admission) {
  local_->answer(*pending);
  judge(*pending, *bans_);
  Decision& decision = pending->decision;
  decision.at = admission.at;
  if (metrics_ && !is_look(*pending)) count(*pending, decision);
  if (admission.admitted && !decision.allowed) refund_charged(store_, *pending, admission.at);
  if (denied_ && !decision.allowed && pending->attributes != nullptr) {
    denied_(*pending->attributes, decision);
  }
  pending->done(std::move(decision));
  PendingPool::give(std::move(pending));
}

void Engine::count(const Pending& pending, const Decision& decision) const {
  for (std::size_t i = 0; i < pending.met.size(); ++i) {
    const LimitDecision& one = decision.limits[i];
    pending.met[i].limit->counting()->count(one.verdict, one.source, one.shadow, decision.allowed);
    const bool refused = !one.verdict.allowed() && !one.shadow && one.key_size > 0;
    const std::uint64_t weight = refused ? DeniedKeys::weight(pending.now) : 0;
    if (weight > 0) metrics_->denied_keys().count(one.name, decision.key_of(one), weight);
  }
}

Result<bool> Engine::take(std::string_view name, const std::vector<std::string>& values,
                          Instant now, std::uint64_t cost, Done done) {
  const auto policy = current();
  const auto found = find_key(*policy, name, values);
  if (!found) return found.error();
  if (!policy->policy().enabled) {
    Decision decision;
    decision.source = Source::kExempt;
    decision.at = now;
    decision.policy = policy;
    done(std::move(decision));
    return true;
  }
  auto pending = PendingPool::take(policy);
  pending->done = std::move(done);
  pending->now = now;
  pending->decision.keys = found->keys.front();
  Met met;
  met.limit = found->limit;
  met.key_size = static_cast<std::uint32_t>(pending->decision.keys.size());
  met.counters = &found->counters(found->keys.front());
  met.cost = cost;
  look_for_ban(*bans_, met, *pending);
  pending->met.push_back(met);
  add_charges(*pending);
  ask(std::move(pending));
  return true;
}

}  // namespace weir::engine
