#include "engine/by_name.h"

#include "base/counted.h"
#include "engine/ban_book.h"
#include "engine/engine.h"

namespace weir::engine {
namespace {

class Nothing final : public Attributes {
 public:
  std::optional<std::string_view> find(const policy::Attribute&) const override {
    return std::nullopt;
  }
  std::optional<IpAddress> ip() const override { return std::nullopt; }
};

// Every counter of a key, under each way to read it.
std::vector<store::Charge> charges_of(const NamedKey& named, std::uint64_t cost) {
  std::vector<store::Charge> charges;
  for (const std::string& key : named.keys) {
    for (const Counter& counter : named.counters(key)) {
      const bool counted = algorithm_of(counter.rule.numbers()) != Algorithm::kUnlimited;
      if (!counted || charges.size() == store::kMaxCharges) continue;
      store::Charge& charge = charges.emplace_back();
      charge.rule = &counter.rule;
      charge.counter = counter.name;
      charge.key = key;
      charge.cost = cost;
    }
  }
  return charges;
}

}  // namespace

const CounterSet& NamedKey::counters(std::string_view key) const {
  const Nothing nothing;
  RequestView request(nothing, policy->policy().paths);
  return limit->counters(request, key);
}

Result<NamedKey> find_key(const CompiledPolicy& policy, std::string_view name,
                          const std::vector<std::string>& values) {
  const CompiledLimit* limit = policy.find_limit(name);
  if (limit == nullptr) {
    return Error{ErrorCode::kNotFound, "there is no such limit in the policy"};
  }
  const std::size_t wanted = limit->written().key.size();
  NamedKey named{limit, &policy, limit->key().read_values(values)};
  if (values.size() != wanted || named.keys.empty()) {
    return Error{ErrorCode::kInvalid, "the key of this limit has " + counted(wanted, "value") +
                                          ", an address where it counts one; a value stands "
                                          "alone, without its attribute's name"};
  }
  return named;
}

Result<bool> Engine::lift_ban(std::string_view name, const std::vector<std::string>& values,
                              Instant now) {
  const auto policy = current();
  const auto found = find_key(*policy, name, values);
  if (!found) return found.error();
  bool banned = false;
  for (const std::string& key : found->keys) banned = bans_->lift(name, key, now) || banned;
  return banned;
}

Result<bool> Engine::reset(std::string_view name, const std::vector<std::string>& values,
                           Instant now, Corrected told) {
  const auto policy = current();
  const auto found = find_key(*policy, name, values);
  if (!found) return found.error();
  const bool bans = found->limit->written().ban.has_value();
  const auto finish = [this, limit = std::string(name), now, told = std::move(told),
                       banned = bans ? found->keys
                                     : std::vector<std::string>()](const store::Correction& made) {
    if (made.outcome == store::Correction::Outcome::kMade) {
      for (const std::string& key : banned) bans_->lift(limit, key, now);
    }
    if (told) told(made);
  };
  const auto charges = charges_of(*found, 0);
  charges.empty() ? finish({}) : store_.reset(charges, finish);
  return true;
}

Result<bool> Engine::refund(std::string_view name, const std::vector<std::string>& values,
                            Instant now, std::uint64_t cost, Corrected told) {
  const auto policy = current();
  const auto found = find_key(*policy, name, values);
  if (!found) return found.error();
  const auto charges = charges_of(*found, cost);
  if (cost > 0 && !charges.empty()) {
    store_.refund(charges, now, std::move(told));
  } else if (told) {
    told({});
  }
  return true;
}

}  // namespace weir::engine
