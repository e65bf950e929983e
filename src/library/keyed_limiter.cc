#include "weir/keyed_limiter.h"

#include <algorithm>
#include <utility>

#include "library/combine.h"
#include "library/keyed_core.h"

namespace weir {

using library::KeyedCore;
using library::Rules;

Store Store::memory(const StoreOptions& options) {
  return Store(std::make_shared<library::StoreCore>(options));
}

Result<Store> Store::restored(const std::string& file, const StoreOptions& options,
                              std::optional<Instant> now) {
  Store store = memory(options);
  const auto read = store.core_->memory.restore(file, now ? *now : store.core_->clock.now());
  if (!read) return read.error();
  return store;
}

Result<std::size_t> Store::save(const std::string& file, std::optional<Instant> now) const {
  return core_->memory.save(file, now ? *now : core_->clock.now());
}

std::size_t Store::keys() const {
  return core_->memory.keys();
}

std::uint64_t Store::evictions() const {
  return core_->memory.evictions();
}

std::size_t Store::sweep(std::optional<Instant> now) {
  return core_->memory.sweep(now ? *now : core_->clock.now());
}

Result<Override> Override::make(const Numbers& numbers) {
  return make(std::vector<Numbers>{numbers});
}

Result<Override> Override::make(const std::vector<Numbers>& numbers) {
  auto rules = Rules::make(numbers);
  if (!rules) return rules.error();
  return Override(*std::move(rules));
}

void KeyedTicket::cancel(std::optional<Instant> now) {
  settle(0, now);
}

void KeyedTicket::settle(std::uint64_t actual, std::optional<Instant> now) {
  if (core_ == nullptr) return;
  const Instant at = core_->or_now(now);
  if (actual < cost_) {
    core_->correct(key_, store::Change::kGiveBack, cost_ - actual, at, charged_at_);
  } else if (actual > cost_) {
    core_->correct(key_, store::Change::kTake, actual - cost_, at, charged_at_);
  }
  core_ = nullptr;
}

Result<KeyedLimiter> KeyedLimiter::make(std::string_view name, const Numbers& numbers,
                                        const StoreOptions& options) {
  return make(name, {numbers}, Store::memory(options));
}

Result<KeyedLimiter> KeyedLimiter::make(std::string_view name, const std::vector<Numbers>& numbers,
                                        const Store& store) {
  auto rules = Rules::make(numbers);
  if (!rules) return rules.error();
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::kInvalid, "the name of a limiter is empty or has a NUL; give it one"};
  }
  if (!store.core_->claim(name)) {
    return Error{ErrorCode::kInvalid, "a limiter named '" + std::string(name) +
                                          "' is on this store already; give this one another name"};
  }
  return KeyedLimiter(
      std::make_unique<KeyedCore>(std::string(name), *std::move(rules), store.core_));
}

KeyedLimiter::KeyedLimiter(std::unique_ptr<KeyedCore> core) : core_(std::move(core)) {}
KeyedLimiter::KeyedLimiter(KeyedLimiter&& other) noexcept = default;
KeyedLimiter& KeyedLimiter::operator=(KeyedLimiter&& other) noexcept = default;
KeyedLimiter::~KeyedLimiter() = default;

bool KeyedLimiter::allow(std::string_view key, std::uint64_t cost, std::optional<Instant> now) {
  return core_->allow(core_->rules(), key, cost, core_->or_now(now));
}

Verdict KeyedLimiter::check(std::string_view key, std::uint64_t cost, std::optional<Instant> now) {
  return core_->take(core_->rules(), key, cost, core_->or_now(now)).verdict;
}

Verdict KeyedLimiter::check(std::string_view key, const Override& numbers, std::uint64_t cost,
                            std::optional<Instant> now) {
  return core_->take(*numbers.rules_, key, cost, core_->or_now(now)).verdict;
}

void KeyedLimiter::check_batch(std::span<const KeyedCall> calls, std::span<Verdict> verdicts,
                               std::optional<Instant> now) {
  core_->take_each(core_->rules(), calls, core_->or_now(now), verdicts);
}

KeyedTicket KeyedLimiter::take(std::string_view key, std::uint64_t cost,
                               std::optional<Instant> now) {
  const KeyedCore::Taken taken = core_->take(core_->rules(), key, cost, core_->or_now(now));
  KeyedTicket ticket;
  ticket.verdict_ = taken.verdict;
  if (!taken.verdict.allowed() || cost == 0) return ticket;
  ticket.core_ = core_.get();
  ticket.key_ = key;
  ticket.cost_ = cost;
  ticket.charged_at_ = taken.at;
  return ticket;
}

Portion KeyedLimiter::allow_at_most(std::string_view key, std::uint64_t most,
                                    std::optional<Instant> now) {
  const Instant at = core_->or_now(now);
  const Rules& rules = core_->rules();
  const std::uint64_t least = std::min<std::uint64_t>(most, 1);
  if (const auto no = least > 0 ? core_->blocked(rules, key, least, at) : std::nullopt) {
    return Portion{0, *no};
  }
  // Another caller may take some between the two steps, which are then made again; the last time
  // for one token, so that a key that many fight over cannot hold this one for ever.
  constexpr int kMaxLooks = 16;
  for (int looks = 1;; ++looks) {
    const std::uint64_t left = looks < kMaxLooks ? core_->left(rules, key, at) : 0;
    const std::uint64_t wanted = std::max(std::min(most, left), least);
    const Verdict verdict = core_->take(rules, key, wanted, at).verdict;
    if (verdict.allowed()) return Portion{wanted, verdict};
    if (left == 0 || verdict.outcome == Outcome::kNever) return Portion{0, verdict};
  }
}

void KeyedLimiter::refund(std::string_view key, std::uint64_t cost, std::optional<Instant> now) {
  core_->correct(key, store::Change::kGiveBack, cost, core_->or_now(now), std::nullopt);
}

void KeyedLimiter::penalty(std::string_view key, std::uint64_t cost, std::optional<Instant> now) {
  core_->correct(key, store::Change::kTake, cost, core_->or_now(now), std::nullopt);
}

void KeyedLimiter::reset(std::string_view key) {
  core_->blocks().remove(key);
  const Rules& rules = core_->rules();
  KeyedCore::Charges charges;
  core_->add(rules, key, 0, charges);
  core_->store().memory.reset(charges.all, nullptr);
}

Result<bool> KeyedLimiter::block(std::string_view key, Duration duration,
                                 std::optional<Instant> now) {
  const std::int64_t ns = core_->seen_ns(core_->or_now(now));
  const std::int64_t span = std::clamp<std::int64_t>(duration.count(), 0, limit::kMaxSpanNs);
  if (span == 0) {
    core_->blocks().remove(key);
  } else if (!core_->blocks().add(key, ns + span, ns)) {
    return Error{ErrorCode::kExhausted,
                 "65536 keys are blocked already; lift some, or let them end"};
  }
  return true;
}

Result<bool> KeyedLimiter::update(const Numbers& numbers, Inherit inherit) {
  auto rules = Rules::make({numbers}, inherit);
  if (!rules) return rules.error();
  if (!core_->use(*std::move(rules))) {
    return Error{ErrorCode::kExhausted,
                 "4096 sets of numbers have been in force already; make a new limiter"};
  }
  return true;
}

Result<Together::Answer> Together::check(std::span<const Part> parts, std::optional<Instant> now) {
  if (parts.empty()) return Error{ErrorCode::kInvalid, "no limits to check together"};
  KeyedCore::Charges charges;
  std::vector<std::size_t> owners;
  std::vector<store::Answer> blocked;
  std::vector<std::size_t> blocked_parts;
  library::StoreCore& store = parts[0].limiter->core_->store();
  const Instant at = parts[0].limiter->core_->or_now(now);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    KeyedCore& core = *parts[i].limiter->core_;
    if (&core.store() != &store) {
      return Error{ErrorCode::kInvalid,
                   "limits of different stores cannot be charged together; make them on one"};
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (parts[j].limiter->core_ == parts[i].limiter->core_ && parts[j].key == parts[i].key) {
        return Error{ErrorCode::kInvalid, "one limit and key twice; add up their costs"};
      }
    }
    const Rules& rules = core.rules();
    if (charges.all.size() + rules.rules.size() > store::kMaxCharges) {
      return Error{ErrorCode::kInvalid, "more than 64 counters in one request; ask for fewer"};
    }
    if (const auto no = parts[i].cost > 0 ? core.blocked(rules, parts[i].key, parts[i].cost, at)
                                          : std::nullopt) {
      blocked.push_back({*no});
      blocked_parts.push_back(i);
    }
    core.add(rules, parts[i].key, parts[i].cost, charges);
    owners.resize(charges.all.size(), i);
  }
  std::vector<store::Answer> answers(charges.all.size());
  bool admitted = false;
  if (blocked.empty()) {
    admitted = store.memory.charge_now(charges.all, at, answers, charges.takeovers).admitted;
  } else {
    // One that is not blocked may have to wait longer, or for ever.
    store.memory.look_now(charges.all, at, answers, charges.takeovers);
    answers.insert(answers.end(), blocked.begin(), blocked.end());
    owners.insert(owners.end(), blocked_parts.begin(), blocked_parts.end());
  }
  return Answer{library::combined(answers, admitted), owners[library::named_of(answers)]};
}

}  // namespace weir
