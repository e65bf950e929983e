#include "engine/adhoc.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace weir::engine {
namespace {

constexpr std::size_t kMaxKeptKeyBytes = 1024;

using RulePtr = std::shared_ptr<const limit::Rule>;

struct BucketHash {
  std::size_t operator()(const TokenBucket& numbers) const {
    std::uint64_t mixed = numbers.rate.count * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ static_cast<std::uint64_t>(numbers.rate.period.count())) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 29) ^ numbers.burst) * 0x94d049bb133111eb;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

// The rules that this thread has compiled. Callers mostly use a few; one that makes up new numbers
// with each call empties the table now and then.
class RuleCache {
 public:
  // The rules are those that `store` can count by.
  Result<RulePtr> find(const TokenBucket& numbers, const store::Store& store) {
    if (store_ != &store) forget_all(store);
    if (last_ && last_numbers_ == numbers) return last_;
    const auto known = rules_.find(numbers);
    if (known != rules_.end()) return remember(numbers, known->second);
    auto made = limit::Rule::make(numbers);
    if (!made) return made.error();
    if (auto why = store.cannot_count(*made)) return *std::move(why);
    if (rules_.size() >= Adhoc::kMaxRules) rules_.clear();
    // WHY shared: a call that waits for its store keeps the rule, whatever the cache drops.
    auto rule = std::make_shared<const limit::Rule>(*std::move(made));
    rules_.emplace(numbers, rule);
    return remember(numbers, std::move(rule));
  }

 private:
  RulePtr remember(const TokenBucket& numbers, RulePtr rule) {
    last_numbers_ = numbers;
    last_ = rule;
    return rule;
  }

  void forget_all(const store::Store& store) {
    store_ = &store;
    last_.reset();
    rules_.clear();
  }

  const store::Store* store_ = nullptr;
  std::unordered_map<TokenBucket, RulePtr, BucketHash> rules_;
  TokenBucket last_numbers_;
  RulePtr last_;
};

RuleCache& rules_of_this_thread() {
  static thread_local RuleCache rules;
  return rules;
}

Result<RulePtr> find_rule(TokenBucket numbers, const store::Store& store) {
  numbers.keeps_time = true;
  return rules_of_this_thread().find(numbers, store);
}

}  // namespace

// What lives from the question to the last answer. Reused by its thread.
struct Adhoc::Asked {
  RulePtr rule;
  std::string key;
  Instant now;
  store::Charge charge;
  store::Answer answer;
  Done done;
  // Of a refund:
  bool refunding = false;  // it has not been answered
  bool failed = false;     // what became of it is not known
  bool too_early = false;  // the look was answered before it
  bool told = false;

  void clear() {
    refunding = failed = too_early = told = false;
    rule.reset();
    done = nullptr;
    if (key.capacity() > kMaxKeptKeyBytes) key = {};
  }
};

Result<bool> Adhoc::check(const TokenBucket& numbers) const {
  const Result<RulePtr> rule = find_rule(numbers, store_);
  if (!rule) return rule.error();
  return true;
}

Result<bool> Adhoc::decide(const Call& call, Instant now, Done done) {
  Result<RulePtr> rule = find_rule(call.numbers, store_);
  if (!rule) return rule.error();
  Asked* const asked = AskedAtRest::take().release();  // the last answer gives it back
  asked->rule = *std::move(rule);
  asked->key = call.key;
  asked->done = std::move(done);
  asked->now = now;
  asked->answer = {};
  store::Charge& charge = asked->charge;
  charge = {};
  charge.rule = asked->rule.get();
  charge.counter = call.family;
  charge.key = asked->key;
  charge.cost = call.cost;
  if (call.refund) give_back(asked);
  ask(asked);
  return true;
}

void Adhoc::ask(Asked* asked) {
  store_.charge({&asked->charge, 1}, asked->now, {&asked->answer, 1},
                [this, asked](store::Admission) { take_answer(asked); });
}

// WHY the look that tells what is left does not wait: what the caller asks next would be decided
// before it. It is repeated where the refund had to be, and so came after it.
void Adhoc::give_back(Asked* asked) {
  asked->refunding = true;
  store_.refund({&asked->charge, 1}, asked->now, [this, asked](const store::Correction& made) {
    asked->refunding = false;
    asked->failed = made.outcome == store::Correction::Outcome::kUnknown;
    if (asked->told) return AskedAtRest::give(std::unique_ptr<Asked>(asked));
    if (!asked->too_early) return;
    asked->failed ? take_answer(asked) : ask(asked);
  });
  asked->charge.cost = 0;
}

void Adhoc::take_answer(Asked* asked) {
  asked->too_early = asked->refunding && asked->answer.known;
  if (!asked->too_early) finish(asked);
}

void Adhoc::finish(Asked* asked) {
  store::Answer& answer = asked->answer;
  if (asked->failed) answer.known = false;
  if (!answer.known) engine_.stand_in(asked->charge, asked->now, answer);
  asked->told = true;
  asked->done(answer);
  // A look that failed does not wait for the refund, which has longer.
  if (!asked->refunding) AskedAtRest::give(std::unique_ptr<Asked>(asked));
}

}  // namespace weir::engine
