#include "engine/compiled_policy.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/siphash.h"
#include "engine/amount.h"
#include "engine/rate_limit_item.h"
#include "store/store.h"

namespace weir::engine {
namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();

const policy::Attribute kTier{policy::Attribute::Kind::kTier, {}};

// `limit`: the limit's name; `suffix`: which of its sets of numbers.
Result<CounterSet> make_counters(const policy::NumberSet& numbers, const std::string& limit,
                                 const std::string& suffix) {
  CounterSet counters;
  for (const Numbers& pair : numbers) {
    auto rule = limit::Rule::make(pair);
    if (!rule) return rule.error();
    std::string name = limit + suffix;
    if (!counters.empty()) name += '#' + std::to_string(counters.size() + 1);
    std::string item;
    append_policy_item(item, limit, pair, rule->quota());
    counters.push_back({std::move(name), std::move(*rule), std::move(item), shape_of(pair)});
  }
  return counters;
}

std::string joined(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ", ";
    out += value;
  }
  return out + ']';
}

Error in_limit(const std::string& name, const Error& error) {
  return Error{error.code, "limit " + name + ": " + error.message};
}

}  // namespace

std::uint32_t shape_of(const Numbers& numbers) {
  SipHash hash({});
  hash.add_word(numbers.index());
  std::visit(
      [&hash]<typename N>(const N& n) {
        if constexpr (std::is_same_v<N, FixedWindow>) {
          hash.add_word(static_cast<std::uint64_t>(n.align));
          if (const auto* calendar = std::get_if<Calendar>(&n.window)) {
            hash.add_word(static_cast<std::uint64_t>(calendar->unit));
            hash.add(calendar->timezone);
          } else {
            hash.add_word(static_cast<std::uint64_t>(std::get<Duration>(n.window).count()));
          }
        } else if constexpr (std::is_same_v<N, SlidingCounter>) {
          hash.add_word(static_cast<std::uint64_t>(n.align));
          hash.add_word(static_cast<std::uint64_t>(n.window.count()));
        } else if constexpr (std::is_same_v<N, SlidingLog>) {
          hash.add_word(static_cast<std::uint64_t>(n.window.count()));
        }
      },
      numbers);
  return static_cast<std::uint32_t>(hash.finish().low);
}

Result<CompiledLimit> CompiledLimit::make(const policy::Limit& limit, const policy::Policy& policy,
                                          Metrics* metrics) {
  CompiledLimit compiled;
  if (metrics != nullptr) compiled.counting_ = metrics->of(limit.name);
  compiled.written_ = &limit;
  compiled.shadow_ = limit.mode == policy::Mode::kShadow || policy.mode == policy::Mode::kShadow;
  if (limit.match) compiled.match_ = Matcher(*limit.match, policy.paths);
  compiled.for_messages_ = compiled.match_.names_message();
  for (const policy::Match& except : limit.except) {
    compiled.excepts_.emplace_back(except, policy.paths);
  }
  compiled.key_ = KeySpec(limit.key, policy);
  auto base = make_counters(limit.numbers, limit.name, "");
  if (!base) return base.error();
  compiled.base_ = std::move(*base);
  for (const auto& [tier, numbers] : limit.tiers) {
    auto counters = make_counters(numbers, limit.name, "@tier:" + tier);
    if (!counters) return counters.error();
    compiled.tiers_.emplace(tier, std::move(*counters));
  }
  if (auto added = compiled.add_overrides(); !added) return added.error();
  return compiled;
}

Result<bool> CompiledLimit::add_overrides() {
  overrides_.reserve(written_->overrides.size());
  for (const policy::Override& one : written_->overrides) {
    auto counters = make_counters(one.numbers, written_->name, "@override");
    if (!counters) return counters.error();
    const auto shared = std::make_shared<const CounterSet>(std::move(*counters));
    const auto keys = key_.read_values(one.key);
    if (keys.empty()) {
      return Error{ErrorCode::kInvalid, "override for " + joined(one.key) +
                                            " can fit no key of this limit; give one value for "
                                            "each part of `key`"};
    }
    for (const std::string& key : keys) {
      if (!overrides_.emplace(key, shared).second) {
        return Error{ErrorCode::kInvalid,
                     "override for " + joined(one.key) +
                         " counts a key that an earlier override counts; keep one of them"};
      }
    }
  }
  return true;
}

bool CompiledLimit::counts_calls_in_flight() const {
  return std::any_of(base_.begin(), base_.end(), [](const Counter& counter) {
    return algorithm_of(counter.rule.numbers()) == Algorithm::kConcurrency;
  });
}

bool CompiledLimit::applies(RequestView& request) const {
  return match_.matches(request, Readings::kAny) &&
         std::none_of(excepts_.begin(), excepts_.end(), [&](const Matcher& except) {
           return except.matches(request, Readings::kAll);
         });
}

bool CompiledLimit::may_apply_to_messages(RequestView& handshake) const {
  return for_messages_ && match_.matches_connection(handshake) &&
         std::none_of(excepts_.begin(), excepts_.end(), [&](const Matcher& except) {
           return except.matches(handshake, Readings::kAll);
         });
}

const CounterSet& CompiledLimit::counters(RequestView& request, std::string_view key) const {
  if (!overrides_.empty()) {
    const auto found = overrides_.find(key);
    if (found != overrides_.end()) return *found->second;
  }
  if (!tiers_.empty()) {
    const auto tier = request.find(kTier);
    const auto found = tier ? tiers_.find(*tier) : tiers_.end();
    if (found != tiers_.end()) return found->second;
  }
  return base_;
}

const Counter* CompiledLimit::find_counter(std::string_view name, std::string_view key) const {
  const auto in = [name](const CounterSet& set) -> const Counter* {
    const auto found = std::find_if(
        set.begin(), set.end(), [name](const Counter& counter) { return counter.name == name; });
    return found == set.end() ? nullptr : &*found;
  };
  const auto own = overrides_.find(key);
  const Counter* found = own == overrides_.end() ? nullptr : in(*own->second);
  if (found == nullptr) found = in(base_);
  for (auto tier = tiers_.begin(); found == nullptr && tier != tiers_.end(); ++tier) {
    found = in(tier->second);
  }
  return found;
}

std::uint64_t CompiledLimit::cost(RequestView& request) const {
  const policy::Cost& cost = written_->cost;
  if (!cost.from) return cost.fixed;
  const auto value = request.find(*cost.from);
  const auto said = value ? parse_amount(*value) : std::nullopt;
  const std::uint64_t asked = std::max<std::uint64_t>(said.value_or(1), 1);
  return std::min(asked, cost.max_cost.value_or(kHighest));
}

Result<std::shared_ptr<const CompiledPolicy>> CompiledPolicy::make(policy::Policy policy,
                                                                   Metrics* metrics) {
  auto compiled = std::make_shared<CompiledPolicy>();
  compiled->policy_ = std::move(policy);
  compiled->messages_ = MessageSchema(compiled->policy_);
  std::size_t always = 0;
  for (const policy::Limit& limit : compiled->policy_.limits) {
    auto made = CompiledLimit::make(limit, compiled->policy_, metrics);
    if (!made) return in_limit(limit.name, made.error());
    if (!limit.match) always += limit.numbers.size();
    compiled->by_name_.emplace(limit.name, static_cast<EntryId>(compiled->limits_.size()));
    compiled->index_.add(made->matcher());
    compiled->limits_.push_back(std::move(*made));
  }
  if (always > store::kMaxCharges) {
    return Error{ErrorCode::kInvalid,
                 std::to_string(always) + " pairs of numbers apply to every request, at most " +
                     std::to_string(store::kMaxCharges) + " can; give some limits a match"};
  }
  for (const policy::Match& exempt : compiled->policy_.exempt) {
    compiled->exempts_.emplace_back(exempt, compiled->policy_.paths);
    compiled->exempt_index_.add(compiled->exempts_.back());
  }
  for (const policy::Block& block : compiled->policy_.block) {
    compiled->blocks_.emplace_back(block.match, compiled->policy_.paths);
    compiled->block_index_.add(compiled->blocks_.back());
  }
  return std::shared_ptr<const CompiledPolicy>(std::move(compiled));
}

const CompiledLimit* CompiledPolicy::find_limit(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &limits_[found->second];
}

bool CompiledPolicy::is_exempt(RequestView& request) const {
  if (exempts_.empty()) return false;
  std::vector<EntryId> candidates;
  exempt_index_.find(request, candidates);
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](EntryId id) { return exempts_[id].matches(request, Readings::kAll); });
}

const policy::Block* CompiledPolicy::find_block(RequestView& request, Instant now,
                                                std::vector<EntryId>& scratch) const {
  if (blocks_.empty() || policy_.mode == policy::Mode::kShadow) return nullptr;
  block_index_.find(request, scratch);
  const policy::Block* found = nullptr;
  for (const EntryId id : scratch) {
    const policy::Block& block = policy_.block[id];
    const bool over = block.until_ns && *block.until_ns <= now.wall_ns;
    if (over || !blocks_[id].matches(request, Readings::kAny)) continue;
    found = &block;
    break;
  }
  scratch.clear();
  return found;
}

bool CompiledPolicy::limits_messages(RequestView& handshake) const {
  if (!policy_.enabled || is_exempt(handshake)) return false;
  return std::any_of(
             limits_.begin(), limits_.end(),
             [&](const CompiledLimit& limit) { return limit.may_apply_to_messages(handshake); }) ||
         std::any_of(blocks_.begin(), blocks_.end(), [&](const Matcher& block) {
           return block.names_message() && block.matches_connection(handshake);
         });
}

}  // namespace weir::engine
