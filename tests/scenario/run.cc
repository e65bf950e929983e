#include "scenario/run.h"

#include <algorithm>
#include <cstdio>

namespace weir::scenario {
namespace {

std::string seconds_text(Duration d) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%09lld", static_cast<long long>(d.count() / 1'000'000'000),
                static_cast<long long>(d.count() % 1'000'000'000));
  return text;
}

std::string_view outcome_text(Outcome outcome) {
  if (outcome == Outcome::kNever) return "never";
  return outcome == Outcome::kAllowed ? "allow" : "deny";
}

// REQUIRES: both below 2^64; compares a/b with c/d.
bool smaller_share(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  __extension__ typedef unsigned __int128 Product;
  return Product{a} * d < Product{c} * b;
}

// Whether `candidate` is named rather than `best`, which stands before it in the file.
bool preferred(const Verdict& candidate, const Verdict& best, bool admitted) {
  if (admitted) {
    return smaller_share(candidate.remaining, candidate.quota, best.remaining, best.quota);
  }
  if ((candidate.outcome == Outcome::kNever) != (best.outcome == Outcome::kNever)) {
    return candidate.outcome == Outcome::kNever;
  }
  return candidate.retry_after > best.retry_after;
}

class Runner {
 public:
  Runner(const Scenario& scenario, Target& target)
      : scenario_(scenario), target_(target), limits_(scenario.limits) {}

  std::vector<std::string> run() {
    for (const Step& step : scenario_.steps) {
      line_ = step.line;
      now_ = moment(step.at);
      std::visit(*this, step.action);
    }
    return std::move(failures_);
  }

  void operator()(const Take& take) {
    const std::vector<Met> met = meet(take.keys, take.cost);
    const Reply reply = target_.take(met, now_);
    check(take.expected, met, reply);
  }

  void operator()(const TakeMany& take) {
    const std::vector<Met> met = meet(take.keys, take.cost);
    std::uint64_t allowed = 0;
    for (std::uint64_t i = 0; i < take.calls; ++i) allowed += target_.take(met, now_).admitted;
    if (allowed != take.allowed) {
      fail(std::to_string(take.allowed) + " allowed", std::to_string(allowed) + " allowed");
    }
  }

  void operator()(const TakeEvery& take) {
    const std::vector<Met> met = meet(take.keys, take.cost);
    std::string got;
    for (std::size_t i = 0; i < take.outcomes.size(); ++i) {
      const Reply reply = target_.take(met, now_);
      const auto name = named(met, reply);
      const bool never = name && reply.verdicts[*name].outcome == Outcome::kNever;
      got += reply.admitted ? 'A' : never ? 'N' : 'D';
      now_ = now_ + take.pause;
    }
    if (got != take.outcomes) fail(take.outcomes, got);
  }

  void operator()(const Correct& correct) {
    std::optional<Instant> charged;
    if (correct.charged) charged = moment(*correct.charged);
    target_.correct(meet(correct.keys, correct.cost), correct.change, now_, charged);
  }

  void operator()(const Reset& reset) { target_.reset(meet(reset.keys, 1)); }

  void operator()(const Limit& changed) {
    const auto limit = std::find_if(limits_.begin(), limits_.end(), [&](const Limit& candidate) {
      return candidate.name == changed.name;
    });
    if (limit == limits_.end()) return fail("a limit named " + changed.name, "none");
    *limit = changed;
  }

  void operator()(const WallStep& step) { wall_ahead_ += step.by; }

 private:
  Instant moment(Duration since_start) const {
    Instant t = scenario_.start + since_start;
    t.wall_ns += wall_ahead_.count();
    return t;
  }

  std::vector<Met> meet(const Keys& keys, std::uint64_t cost) const {
    std::vector<Met> met;
    for (const Limit& limit : limits_) {
      if (const auto key = keys.of(limit.name)) scenario::meet(limit, *key, cost, met);
    }
    return met;
  }

  void check(const Expectation& expected, std::span<const Met> met, const Reply& reply) {
    const auto name = named(met, reply);
    Verdict verdict;
    if (name) verdict = reply.verdicts[*name];
    if (!name) verdict.outcome = reply.admitted ? Outcome::kAllowed : Outcome::kDenied;
    bool right = verdict.outcome == expected.outcome;
    right = right && expected.left.value_or(verdict.remaining) == verdict.remaining;
    right = right && expected.retry.value_or(verdict.retry_after) == verdict.retry_after;
    right = right && expected.reset.value_or(verdict.reset_after) == verdict.reset_after;
    right = right && expected.delay.value_or(verdict.delay) == verdict.delay;
    right = right && expected.next.value_or(verdict.next_after) == verdict.next_after;
    const std::string by = name ? met[*name].limit->name : "";
    if (right && (expected.by.empty() || expected.by == by)) return;
    fail("what it says",
         std::string(outcome_text(verdict.outcome)) + " left " + std::to_string(verdict.remaining) +
             " retry " + seconds_text(verdict.retry_after) + " reset " +
             seconds_text(verdict.reset_after) + " delay " + seconds_text(verdict.delay) +
             " next " + seconds_text(verdict.next_after) + " by " + by);
  }

  void fail(const std::string& wanted, const std::string& got) {
    failures_.push_back("line " + std::to_string(line_) + ": wanted " + wanted + ", got " + got);
  }

  const Scenario& scenario_;
  Target& target_;
  std::vector<Limit> limits_;
  std::vector<std::string> failures_;
  Instant now_;
  Duration wall_ahead_{0};
  int line_ = 0;
};

}  // namespace

void meet(const Limit& limit, const std::string& key, std::uint64_t cost, std::vector<Met>& met) {
  for (std::size_t pair = 0; pair < limit.pairs(); ++pair) met.push_back({&limit, key, cost, pair});
}

std::optional<std::size_t> named(std::span<const Met> met, const Reply& reply) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (met[i].limit->shadow || std::holds_alternative<Unlimited>(met[i].numbers())) continue;
    if (!reply.admitted && reply.verdicts[i].allowed()) continue;
    if (!best || preferred(reply.verdicts[i], reply.verdicts[*best], reply.admitted)) best = i;
  }
  return best;
}

std::vector<std::string> run(const Scenario& scenario, Target& target) {
  return Runner(scenario, target).run();
}

}  // namespace weir::scenario
