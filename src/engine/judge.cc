#include "engine/judge.h"

#include <algorithm>

#include "engine/ban_book.h"
#include "engine/naming.h"

namespace weir::engine {
namespace {

using store::Answer;

void set_counter(LimitDecision& one, const Counter& counter) {
  one.numbers = &counter.rule.numbers();
  one.policy_item = counter.policy_item;
}

void describe(const Met& met, LimitDecision& one) {
  one.limit = &met.limit->written();
  one.name = one.limit->name;
  one.shadow = met.limit->shadow();
  one.cost = met.cost;
  one.key_begin = met.key_begin;
  one.key_size = met.key_size;
  one.counters = met.counters;
  set_counter(one, met.counters->front());
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

void set_banned(LimitDecision& one, Duration left) {
  one.verdict.outcome = Outcome::kDenied;
  one.verdict.retry_known = true;
  one.verdict.retry_after = std::max(one.verdict.retry_after, left);
  one.verdict.reset_after = std::max(one.verdict.reset_after, left);
  one.verdict.next_after = one.verdict.retry_after;
  one.reason = Reason::kBanned;
}

// The limit's own verdict: of its pairs of numbers, the one that naming.h names.
void judge_limit(const Pending& pending, const Met& met, LimitDecision& one) {
  describe(met, one);
  if (met.missing_key) return set_missing_key(one);
  if (met.ban_left > Duration{0}) {
    one.verdict.quota = met.counters->front().rule.quota();
    return set_banned(one, met.ban_left);
  }
  if (met.count == 0) {  // unlimited
    one.verdict.quota = one.verdict.remaining = met.counters->front().rule.quota();
    return;
  }
  std::uint32_t place = met.first;
  bool first = true;
  bool failed = false;
  bool all_asked = true;
  for (const Counter& counter : *met.counters) {
    if (is_unlimited(counter)) continue;
    const Answer& answer = pending.answers[place++];
    failed = failed || !answer.known;
    all_asked = all_asked && answer.asked;
    if (!answer.known) continue;
    one.apart = answer.apart;
    if (!first && !is_named_over(answer.verdict, one.verdict)) continue;
    first = false;
    one.verdict = answer.verdict;
    one.source = answer.source;
    one.asked = answer.asked;
    set_counter(one, counter);
  }
  one.asked = one.asked && (all_asked || !one.verdict.allowed());
  if (failed && one.verdict.allowed()) set_failed(one, on_error(pending, met));
  const bool never = one.known() && one.verdict.outcome == Outcome::kNever;
  if (never && met.cost > one.verdict.quota) one.reason = Reason::kCostExceedsLimit;
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
  const auto refuses = [](const LimitDecision& one) { return !one.verdict.allowed(); };
  decision.named = -1;
  if (std::any_of(decision.limits.begin(), decision.limits.end(), refuses)) {
    decision.named = find_named(decision.limits, is_definite_denial);
    if (decision.named < 0) decision.named = find_named(decision.limits, refuses);
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

// Refusals that a ban follows from: those that waiting would have mended.
bool is_banned_for(const LimitDecision& one) {
  return one.limit->ban && !one.shadow && is_definite_denial(one) && one.reason == Reason::kNone &&
         one.cost > 0;
}

// Counts what the limits with a `ban` refuse. Whether a ban has begun.
bool count_refusals(Decision& decision, Instant now, BanBook& bans) {
  bool begun = false;
  for (LimitDecision& one : decision.limits) {
    if (!is_banned_for(one)) continue;
    const Duration left = bans.refused(one.name, *one.limit->ban, decision.key_of(one), now);
    if (left <= Duration{0}) continue;
    set_banned(one, left);
    begun = true;
  }
  return begun;
}

}  // namespace

void judge(Pending& pending, BanBook& bans) {
  Decision& decision = pending.decision;
  decision.limits.reserve(pending.met.size());
  for (const Met& met : pending.met) judge_limit(pending, met, decision.limits.emplace_back());
  conclude(decision);
  if (!decision.allowed && count_refusals(decision, pending.now, bans)) conclude(decision);
}

}  // namespace weir::engine
