// Runs a scenario on whatever can answer one: a target.
//
// THREADS: one at a time.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenario/scenario.h"
#include "weir/decision.h"
#include "weir/time.h"

namespace weir::scenario {

// One pair of numbers of a limit that a request meets. The limit lives as long as the run, or until
// it is reloaded; its pairs stand together, in their order.
struct Met {
  const Limit* limit = nullptr;
  std::string key;
  std::uint64_t cost = 1;
  std::size_t pair = 0;

  const Numbers& numbers() const { return pair == 0 ? limit->numbers : limit->more[pair - 1]; }
  // Names the counter, together with the key.
  std::string counter() const {
    return pair == 0 ? limit->name : limit->name + '/' + std::to_string(pair);
  }
  // Whether it is charged with the one before it, or not at all.
  bool with_before() const { return limit->shadow && pair > 0; }
};

// Adds each pair of the limit.
void meet(const Limit& limit, const std::string& key, std::uint64_t cost, std::vector<Met>& met);

struct Reply {
  bool admitted = false;
  std::vector<Verdict> verdicts;  // of each met
};

// One way to reach the program's decisions.
class Target {
 public:
  virtual ~Target() = default;
  virtual Reply take(std::span<const Met> met, Instant now) = 0;
  virtual void correct(std::span<const Met> met, Change change, Instant now,
                       std::optional<Instant> charged_at) = 0;
  virtual void reset(std::span<const Met> met) = 0;
};

// Which limit the decision names: of the denying ones the one that never admits, else the longest
// wait; of the admitting ones the smallest share left; ties by file order. Nothing where only
// shadow and unlimited ones are met.
std::optional<std::size_t> named(std::span<const Met> met, const Reply& reply);

// What was not answered as the scenario says, a line each; empty when all is right.
std::vector<std::string> run(const Scenario& scenario, Target& target);

}  // namespace weir::scenario
