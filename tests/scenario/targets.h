// What scenarios run on here: the pure function, and any store.
//
// THREADS: one at a time.

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "limit/rule.h"
#include "scenario/run.h"
#include "store/memory/call_log.h"
#include "store/store.h"

namespace weir::scenario {

// limit::Rule alone, with the least around it that makes decisions of several: a map of states, and
// the mark before which no time counts.
class PureTarget final : public Target {
 public:
  Reply take(std::span<const Met> met, Instant now) override;
  void correct(std::span<const Met> met, Change change, Instant now,
               std::optional<Instant> charged_at) override;
  void reset(std::span<const Met> met) override;

 private:
  struct Counter {
    limit::Rule rule;
    std::optional<limit::State> state;
    store::CallLog log;
  };

  Instant advance(Instant now);
  Counter& counter(const Met& met, Instant now);
  Verdict ask(Counter& counter, std::uint64_t cost, Instant now, bool charge);
  static void correct_log(Counter& counter, Change change, std::uint64_t cost, Instant now,
                          std::optional<Instant> charged_at);

  std::map<std::pair<std::string, std::string>, Counter> counters_;
  std::deque<Counter> peeked_;
  std::optional<Instant> latest_;
};

// The store's word for it.
store::Change to_store(Change change);

// A store that answers before charge() returns.
class StoreTarget final : public Target {
 public:
  explicit StoreTarget(store::Store& store) : store_(store) {}

  Reply take(std::span<const Met> met, Instant now) override;
  void correct(std::span<const Met> met, Change change, Instant now,
               std::optional<Instant> charged_at) override;
  void reset(std::span<const Met> met) override;

 private:
  store::Store& store_;
};

}  // namespace weir::scenario
