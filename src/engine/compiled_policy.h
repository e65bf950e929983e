// CompiledPolicy: a policy ready to decide by: rules made, patterns prepared, limits filed by what
// they match, tiers and overrides in hash tables.
//
// THREADS: immutable after make(); any.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/key.h"
#include "engine/match_index.h"
#include "engine/matcher.h"
#include "engine/message.h"
#include "engine/metrics.h"
#include "limit/rule.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::engine {

// One pair of numbers and the counter that it keeps. Tiers and overrides have their own, so that a
// change of tier starts fresh: "query", "query@tier:premium", "query@override"; the second pair of
// numbers and those after it end in "#2", "#3". An override needs no number: its key tells it
// apart.
struct Counter {
  std::string name;
  limit::Rule rule;
  std::string policy_item;  // as RateLimit-Policy lists it
  std::uint32_t shape = 0;  // shape_of() the numbers
};
using CounterSet = std::vector<Counter>;

// Tells numbers apart that cannot share a counter: the algorithm, and of windows how they lie. The
// same in every process.
std::uint32_t shape_of(const Numbers& numbers);

class CompiledLimit {
 public:
  // ERRORS: kInvalid where the state cannot hold the numbers, or two overrides count one key.
  // REQUIRES: `limit`, `policy` and the metrics (where there are any) outlive it.
  static Result<CompiledLimit> make(const policy::Limit& limit, const policy::Policy& policy,
                                    Metrics* metrics);

  // Whether the request meets this limit: matched, and not taken out again.
  bool applies(RequestView& request) const;

  // Whether it may apply to a message on the connection that this handshake opens.
  bool may_apply_to_messages(RequestView& handshake) const;

  // The numbers that count this request. `key` as KeySpec::append wrote it.
  const CounterSet& counters(RequestView& request, std::string_view key) const;

  // The counter of this name that counts `key`; null where the limit has none by now.
  const Counter* find_counter(std::string_view name, std::string_view key) const;

  // What the request costs by the limit's own word. A value that an attribute holds is a number
  // from 1, rounded up, at most max_cost; what is missing or no number costs 1.
  std::uint64_t cost(RequestView& request) const;

  // Runs `see` on every counter: base, tiers, overrides.
  template <typename See>
  void for_each_counter(See see) const {
    for (const Counter& counter : base_) see(counter);
    for (const auto& [tier, set] : tiers_) {
      for (const Counter& counter : set) see(counter);
    }
    for (const auto& [key, set] : overrides_) {
      for (const Counter& counter : *set) see(counter);
    }
  }

  const policy::Limit& written() const { return *written_; }
  const Matcher& matcher() const { return match_; }
  const std::vector<Matcher>& excepts() const { return excepts_; }
  const KeySpec& key() const { return key_; }
  bool shadow() const { return shadow_; }  // by its own mode, or by that of the whole policy
  bool for_messages() const { return for_messages_; }
  bool counts_calls_in_flight() const;
  // Where what this limit says is counted; null where nobody counts.
  const LimitCounters* counting() const { return counting_; }

 private:
  CompiledLimit() = default;
  Result<bool> add_overrides();

  const policy::Limit* written_ = nullptr;
  Matcher match_;
  std::vector<Matcher> excepts_;
  KeySpec key_;
  bool for_messages_ = false;
  bool shadow_ = false;
  const LimitCounters* counting_ = nullptr;
  CounterSet base_;
  StringMap<CounterSet> tiers_;
  StringMap<std::shared_ptr<const CounterSet>> overrides_;  // WHY shared: several readings of a key
};

class CompiledPolicy {
 public:
  // ERRORS: kInvalid, naming the limit.
  static Result<std::shared_ptr<const CompiledPolicy>> make(policy::Policy policy,
                                                            Metrics* metrics = nullptr);

  const policy::Policy& policy() const { return policy_; }
  const std::vector<CompiledLimit>& limits() const { return limits_; }
  const CompiledLimit* find_limit(std::string_view name) const;
  template <typename See>
  void for_each_counter(See see) const {
    for (const CompiledLimit& limit : limits_) limit.for_each_counter(see);
  }

  bool is_exempt(RequestView& request) const;
  // The entry of `block` that refuses the request, or null; none does in a policy of mode shadow.
  // `scratch` is used, and left empty.
  const policy::Block* find_block(RequestView& request, Instant now,
                                  std::vector<EntryId>& scratch) const;

  // What is read of messages.
  const MessageSchema& messages() const { return messages_; }
  // Whether some limit may apply to a message on the connection that this handshake opens: then its
  // messages must be looked into.
  bool limits_messages(RequestView& handshake) const;

  // Appends the places in limits() of those that may apply, in file order.
  void find_candidates(RequestView& request, std::vector<EntryId>& out) const {
    index_.find(request, out);
  }

 private:
  policy::Policy policy_;
  MessageSchema messages_;
  std::vector<CompiledLimit> limits_;
  MatchIndex index_;
  StringMap<EntryId> by_name_;
  std::vector<Matcher> exempts_;
  MatchIndex exempt_index_;
  std::vector<Matcher> blocks_;
  MatchIndex block_index_;
};

}  // namespace weir::engine
