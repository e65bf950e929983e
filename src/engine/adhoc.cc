#include "engine/adhoc.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/at_rest.h"

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
  Result<RulePtr> find(const TokenBucket& numbers) {
    if (last_ && last_numbers_ == numbers) return last_;
    const auto known = rules_.find(numbers);
    if (known != rules_.end()) return remember(numbers, known->second);
    auto made = limit::Rule::make(numbers);
    if (!made) return made.error();
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

  std::unordered_map<TokenBucket, RulePtr, BucketHash> rules_;
  TokenBucket last_numbers_;
  RulePtr last_;
};

// What lives from the question to the answer. Reused by its thread.
struct Asked {
  RulePtr rule;
  std::string key;
  Instant now;
  store::Charge charge;
  store::Answer answer;
  Adhoc::Done done;

  void clear() {
    rule.reset();
    done = nullptr;
    if (key.capacity() > kMaxKeptKeyBytes) key = {};
  }
};

using AskedAtRest = AtRest<Asked, 256>;

RuleCache& rules_of_this_thread() {
  static thread_local RuleCache rules;
  return rules;
}

Result<RulePtr> find_rule(TokenBucket numbers) {
  numbers.keeps_time = true;
  return rules_of_this_thread().find(numbers);
}

void finish(Engine& engine, Asked* asked) {
  store::Answer& answer = asked->answer;
  if (!answer.known) engine.stand_in(asked->charge, asked->now, answer);
  asked->done(answer);
  AskedAtRest::give(std::unique_ptr<Asked>(asked));
}

}  // namespace

Result<bool> Adhoc::check(const TokenBucket& numbers) {
  const Result<RulePtr> rule = find_rule(numbers);
  if (!rule) return rule.error();
  return true;
}

Result<bool> Adhoc::decide(const Call& call, Instant now, Done done) {
  Result<RulePtr> rule = find_rule(call.numbers);
  if (!rule) return rule.error();
  Asked* const asked = AskedAtRest::take().release();  // finish() takes it back
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
  if (call.refund) {
    store_.refund({&charge, 1}, now);
    charge.cost = 0;
  }
  store_.charge({&charge, 1}, now, {&asked->answer, 1},
                [&engine = engine_, asked](store::Admission) { finish(engine, asked); });
  return true;
}

}  // namespace weir::engine
