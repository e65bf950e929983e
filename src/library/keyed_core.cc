#include "library/keyed_core.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "library/combine.h"

namespace weir::library {

Result<std::shared_ptr<const Rules>> Rules::make(const std::vector<Numbers>& numbers,
                                                 Inherit inherit) {
  if (numbers.empty() || numbers.size() > store::kMaxCharges) {
    return Error{ErrorCode::kInvalid, "a limiter has " + std::to_string(numbers.size()) +
                                          " sets of numbers, must be 1 to 64"};
  }
  auto compiled = std::make_shared<Rules>();
  compiled->inherit = inherit;
  for (const Numbers& set : numbers) {
    auto rule = limit::Rule::make(set);
    if (!rule) return rule.error();
    compiled->rules.push_back(*std::move(rule));
  }
  if (numbers.size() == 1) {
    compiled->quick = store::MemoryStore::QuickRule::of(compiled->rules[0]);
  }
  return std::shared_ptr<const Rules>(std::move(compiled));
}

bool Rules::same_numbers(const Rules& other) const {
  return std::equal(rules.begin(), rules.end(), other.rules.begin(), other.rules.end(),
                    [](const auto& a, const auto& b) { return a.numbers() == b.numbers(); });
}

StoreCore::StoreCore(const StoreOptions& options)
    : memory(store::MemoryOptions{.max_keys = options.max_keys}),
      clock(options.clock != nullptr ? *options.clock : system_clock()) {}

bool StoreCore::claim(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return names_.emplace(name).second;
}

void StoreCore::release(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = names_.find(name); found != names_.end()) names_.erase(found);
}

bool Blocks::add(std::string_view key, std::int64_t until, std::int64_t now) {
  const std::lock_guard lock(mutex_);
  if (until_.size() >= kMax && !until_.contains(key)) {
    std::erase_if(until_, [now](const auto& block) { return block.second <= now; });
    if (until_.size() >= kMax) return false;
  }
  until_.insert_or_assign(std::string(key), until);
  count_.store(until_.size(), std::memory_order_release);
  return true;
}

void Blocks::remove(std::string_view key) {
  if (count_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = until_.find(key); found != until_.end()) until_.erase(found);
  count_.store(until_.size(), std::memory_order_release);
}

std::optional<std::int64_t> Blocks::find(std::string_view key, std::int64_t now) {
  if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = until_.find(key);
  if (found == until_.end()) return std::nullopt;
  if (found->second > now) return found->second;
  until_.erase(found);
  count_.store(until_.size(), std::memory_order_release);
  return std::nullopt;
}

KeyedCore::KeyedCore(std::string name, std::shared_ptr<const Rules> rules,
                     std::shared_ptr<StoreCore> store)
    : name_(std::move(name)),
      store_(std::move(store)),
      hashed_name_(store_->memory.hashed(name_)),
      versions_{std::move(rules)},
      rules_(versions_[0].get()) {
  counters_.push_back(name_);
  // As the sets of one limit of a policy are told apart; no name of a limiter has a NUL.
  for (std::size_t i = 1; i < store::kMaxCharges; ++i) {
    counters_.push_back(name_ + '\0' + std::to_string(i));
  }
  for (const Inherit inherit :
       {Inherit::kAsIs, Inherit::kReset, Inherit::kProportional, Inherit::kAdditive}) {
    takeovers_[static_cast<std::size_t>(inherit)] = {
        inherit, [this](const limit::Rule& older) { return was_in_force(older); }};
  }
}

bool KeyedCore::use(std::shared_ptr<const Rules> rules) {
  const std::lock_guard lock(versions_mutex_);
  auto version = std::find_if(versions_.begin(), versions_.end(), [&](const auto& known) {
    return known->inherit == rules->inherit && known->same_numbers(*rules);
  });
  if (version == versions_.end()) {
    if (versions_.size() >= kMaxVersions) return false;
    version = versions_.insert(version, std::move(rules));
  }
  rules_.store(version->get(), std::memory_order_release);
  return true;
}

bool KeyedCore::was_in_force(const limit::Rule& rule) {
  const std::lock_guard lock(versions_mutex_);
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& version) {
    return std::any_of(version->rules.begin(), version->rules.end(),
                       [&](const limit::Rule& known) { return known.numbers() == rule.numbers(); });
  });
}

KeyedCore::~KeyedCore() {
  store_->release(name_);
}

void KeyedCore::add(const Rules& rules, std::string_view key, std::uint64_t cost,
                    Charges& charges) const {
  const bool as_is = rules.inherit == Inherit::kAsIs;
  const auto* const takeover =
      as_is ? nullptr : &takeovers_[static_cast<std::size_t>(rules.inherit)];
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    charges.takeovers.push_back(takeover);
    store::Charge& charge = charges.all.emplace_back();
    charge.rule = &rules.rules[i];
    charge.counter = counters_[i];
    charge.key = key;
    charge.cost = cost;
  }
}

KeyedCore::Taken KeyedCore::take(const Rules& rules, std::string_view key, std::uint64_t cost,
                                 Instant now) {
  const Touched touched = take_quickly(rules, key, cost, now);
  if (!touched.made()) return take_locked(rules, key, cost, now);
  return Taken{rules.quick->bucket.verdict(touched.step(), cost), store_->memory.now()};
}

KeyedCore::Taken KeyedCore::take_locked(const Rules& rules, std::string_view key,
                                        std::uint64_t cost, Instant now) {
  if (const auto no = cost > 0 ? blocked(rules, key, cost, now) : std::nullopt)
    return Taken{*no, now};
  Charges charges;
  add(rules, key, cost, charges);
  Answers answers(charges.all.size());
  store::MemoryStore& memory = store_->memory;
  const auto admission =
      is_quick(rules) ? memory.charge_under_lock(charges.all, now, answers, charges.takeovers)
                      : memory.charge_now(charges.all, now, answers, charges.takeovers);
  return Taken{combined(answers, admission.admitted), admission.at};
}

void KeyedCore::take_each(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                          std::span<Verdict> verdicts) {
  const bool quick = is_quick(rules);
  for (std::size_t done = 0; done < calls.size(); done += kAtOnce) {
    const auto some = calls.subspan(done, std::min(kAtOnce, calls.size() - done));
    const auto answers = verdicts.subspan(done, some.size());
    quick ? take_side_by_side(rules, some, now, answers) : take_in_turn(rules, some, now, answers);
  }
}

void KeyedCore::take_in_turn(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                             std::span<Verdict> verdicts) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    verdicts[i] = take_locked(rules, calls[i].key, calls[i].cost, now).verdict;
  }
}

// So that the slots of several keys are fetched from memory at once. REQUIRES: rules.quick, and at
// most kAtOnce calls.
void KeyedCore::take_side_by_side(const Rules& rules, std::span<const KeyedCall> calls, Instant now,
                                  std::span<Verdict> verdicts) {
  store::MemoryStore& memory = store_->memory;
  std::array<Spot, kAtOnce> spots;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    spots[i] = memory.locate(hashed_name_, calls[i].key);
  }
  for (std::size_t done = 0; done < calls.size(); ++done) {
    const auto left = calls.subspan(done);
    done += touch_some(rules, left, &spots[done], now, &verdicts[done]);
    if (done == calls.size()) return;
    verdicts[done] = take_locked(rules, calls[done].key, calls[done].cost, now).verdict;
  }
}

// Answers calls up to one that must be made under the lock, and says how many.
std::size_t KeyedCore::touch_some(const Rules& rules, std::span<const KeyedCall> calls,
                                  const Spot* spots, Instant now, Verdict* verdicts) {
  store::MemoryStore& memory = store_->memory;
  const store::MemoryStore::QuickRule& rule = *rules.quick;
  const store::MemoryStore::Visit visit(memory, now);
  const std::uint32_t place = memory.place_of(rule);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::uint64_t cost = calls[i].cost;
    const Touched touched = memory.touch(visit, spots[i], rule, place, cost);
    if (!touched.made()) return i;
    verdicts[i] = rule.bucket.verdict(touched.step(), cost);
  }
  return calls.size();
}

void KeyedCore::correct(std::string_view key, store::Change change, std::uint64_t cost, Instant now,
                        std::optional<Instant> charged_at) {
  Charges charges;
  add(rules(), key, cost, charges);
  for (store::Charge& charge : charges.all) {
    charge.charged_at = charged_at;
    charge.change = change;
  }
  store_->memory.correct_now(charges.all, std::nullopt, now, charges.takeovers);
}

KeyedCore::Answers KeyedCore::look(const Rules& rules, std::string_view key, std::uint64_t cost,
                                   Instant now) {
  Charges charges;
  add(rules, key, cost, charges);
  Answers answers(charges.all.size());
  store_->memory.look_now(charges.all, now, answers, charges.takeovers);
  return answers;
}

// WHY as it stands now: while a key is blocked nobody takes from it, so that what is missing comes
// in as fast as ever.
std::optional<Verdict> KeyedCore::blocked(const Rules& rules, std::string_view key,
                                          std::uint64_t cost, Instant now) {
  if (blocks_.empty()) return std::nullopt;
  const std::int64_t ns = seen_ns(now);
  const auto until = blocks_.find(key, ns);
  if (!until) return std::nullopt;
  Verdict verdict = combined(look(rules, key, cost, now), false);
  if (verdict.outcome == Outcome::kNever) return verdict;
  verdict.outcome = Outcome::kDenied;
  const Duration block(*until - ns);
  verdict.retry_known = verdict.retry_known || verdict.retry_after <= block;
  verdict.retry_after = std::max(verdict.retry_after, block);
  verdict.reset_after = std::max(verdict.reset_after, verdict.retry_after);
  return verdict;
}

std::int64_t KeyedCore::seen_ns(Instant now) const {
  return std::max(limit::read(limit::Timeline::kSteady, now), store_->memory.now().steady_ns);
}

std::uint64_t KeyedCore::left(const Rules& rules, std::string_view key, Instant now) {
  return least_left(look(rules, key, 0, now));
}

}  // namespace weir::library
