// The oracle's models: each algorithm once more, written for being plainly right.
//
// Fractions of big integers, the calls themselves instead of running sums, and searches where the
// program has formulas; nothing is shared with src/limit but the vocabulary of include/weir. Slow
// on purpose. A model rounds only what is told: whole nanoseconds, rounded up.
//
// THREADS: one at a time.

#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "weir/decision.h"
#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::oracle {

using Integer = boost::multiprecision::cpp_int;
using Fraction = boost::multiprecision::cpp_rational;

// The smallest integer that is not below, and the largest not above.
Integer ceiling(const Fraction& value);
Integer floor(const Fraction& value);

// One key under one limit.
class Model {
 public:
  virtual ~Model() = default;

  // What a call of `cost` would be answered at `now`, as if it stood alone; `charge` then says
  // whether an admitted one is taken, or only looked at (what it reports is then as before it).
  virtual Verdict ask(std::uint64_t cost, Instant now, bool charge) = 0;

  // Gives back. A key that was never charged stays as it is.
  virtual void refund(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) = 0;
  // Takes what may not be there, as of a call made at `charged_at` (else now).
  virtual void overdraw(std::uint64_t cost, Instant now, std::optional<Instant> charged_at) = 0;
  // Calls in flight that began at `charged_at` (else the first) count as begun now.
  virtual void renew(std::uint64_t, Instant, std::optional<Instant>) {}
};

std::unique_ptr<Model> make_model(const Numbers& numbers);

}  // namespace weir::oracle
