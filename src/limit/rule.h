// Rule: one set of numbers, compiled; decides one call against one state. Pure arithmetic: no
// clock, no key, no lock, no allocation, no I/O.
//
// THREADS: immutable; any.

#pragma once

#include <cstdint>

#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::limit {

// The state of one key under one rule. What the words mean belongs to the algorithm; a fresh key
// has no state at all.
struct State {
  std::uint64_t word[3] = {0, 0, 0};
  friend bool operator==(const State&, const State&) = default;
};

class Rule {
 public:
  // ERRORS: kInvalid when the state cannot hold these numbers (time from empty to full above 100
  // years), naming the largest that can.
  static Result<Rule> make(const Numbers& numbers);

  const Numbers& numbers() const { return numbers_; }
  std::uint64_t quota() const;

 private:
  explicit Rule(Numbers numbers) : numbers_(std::move(numbers)) {}

  Numbers numbers_;
};

}  // namespace weir::limit
