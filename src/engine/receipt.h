// Receipt: what one decision charged, so that it can be corrected later: given back, settled at
// what it turned out to cost, and, for calls in flight (concurrency), renewed and released.
//
// It has two halves. The cost is corrected once, by Engine::settle() or refund(). The places of
// calls in flight are renewed as often as need be, and end once, by release() or refund(). What is
// asked beyond that is answered kSpent and changes nothing.
//
// A handle: copies are one receipt. Keeps the policy that it was charged under alive.
//
// THREADS: any.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/siphash.h"
#include "engine/compiled_policy.h"
#include "engine/engine.h"
#include "limit/rule.h"
#include "store/store.h"
#include "weir/time.h"

namespace weir::engine {

// Runs `see` on each counter that an admitted decision charged, and the limit it belongs to. A
// shadow limit that would have refused took nothing.
template <typename See>
void for_each_charged(const Decision& decision, See see) {
  if (!decision.allowed) return;
  for (const LimitDecision& one : decision.limits) {
    const bool charged = one.cost > 0 && one.counters != nullptr && one.known() &&
                         one.verdict.allowed() && one.reason == Reason::kNone;
    if (!charged) continue;
    for (const Counter& counter : *one.counters) {
      if (algorithm_of(counter.rule.numbers()) != Algorithm::kUnlimited) see(one, counter);
    }
  }
}

// One counter that was charged. The texts stand in Charged::text.
struct TakenFrom {
  const limit::Rule* rule = nullptr;
  const policy::Limit* limit = nullptr;  // null: numbers that came with the call
  std::uint32_t counter_begin = 0;
  std::uint32_t counter_size = 0;
  std::uint32_t key_begin = 0;
  std::uint32_t key_size = 0;
  std::uint64_t cost = 0;
  // By how much later than Charged::at it was charged; of calls in flight, than Charged::places_at.
  Duration apart{0};
  bool local = false;  // by this instance's own share of the limit (local_share.h)

  bool is_place() const { return algorithm_of(rule->numbers()) == Algorithm::kConcurrency; }
};

// What stands behind a receipt.
struct Charged {
  std::vector<TakenFrom> taken;
  std::string text;
  std::shared_ptr<const void> rules;  // keeps those of `taken` alive
  Instant at;                         // when the store charged it
  Instant local_at;                   // the same for `local` ones

  // Of one that was read from an id: each half is corrected once by this, whoever holds the id.
  Hash128 serial;
  bool from_id = false;

  std::mutex mutex;  // guards what follows, and when calls in flight count as begun
  bool cost_open = true;
  bool places_open = true;
  bool renewing = false;
  std::uint32_t renewals = 0;
  Instant places_at;                    // since when calls in flight count
  std::function<void()> after_renewal;  // the release that waits for it

  std::string_view counter(const TakenFrom& one) const {
    return std::string_view(text).substr(one.counter_begin, one.counter_size);
  }
  std::string_view key(const TakenFrom& one) const {
    return std::string_view(text).substr(one.key_begin, one.key_size);
  }
  void add(TakenFrom one, std::string_view counter, std::string_view key);
};

// The counter of this name and key in a policy, and its limit; null where it is gone, or starts
// anew under its name since it counts by another shape (shape_of()).
const Counter* find_counter(const CompiledPolicy& policy, std::string_view name,
                            std::string_view key, std::uint32_t shape, const policy::Limit*& limit);

class Receipt {
 public:
  // Nothing was charged.
  Receipt() = default;
  explicit Receipt(std::shared_ptr<Charged> charged) : charged_(std::move(charged)) {}

  // Of an admitted decision; empty where it charged nothing.
  static Receipt of(const Decision& decision);
  // Of a call that brought its own numbers (adhoc.h), charged at `at`.
  static Receipt of_adhoc(const TokenBucket& numbers, std::string_view family, std::string_view key,
                          std::uint64_t cost, Instant at);

  bool empty() const { return charged_ == nullptr; }
  // Whether it has calls in flight, and their shortest timeout: renewed more often than that, they
  // are never taken for those of a caller who died.
  bool has_places() const;
  Duration shortest_timeout() const;
  // Whether a limit that was charged says so.
  template <typename Predicate>
  bool any_limit(Predicate says) const {
    if (empty()) return false;
    for (const TakenFrom& one : charged_->taken) {
      if (one.limit != nullptr && says(*one.limit)) return true;
    }
    return false;
  }

  // For the engine.
  const std::shared_ptr<Charged>& charged() const { return charged_; }

 private:
  std::shared_ptr<Charged> charged_;  // WHY shared: corrections may end after their caller
};

}  // namespace weir::engine
