// Store: where counters live, behind one verb.
//
// There is no separate check: between check and update another caller could spend the same token.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "limit/rule.h"
#include "weir/decision.h"
#include "weir/time.h"

namespace weir::store {

// One counter that one request meets. The views must outlive the call.
struct Charge {
  const limit::Rule* rule = nullptr;
  // Which limit, and which of its sets of numbers: "login", "query@tier:premium". Names the counter
  // together with `key`; survives a reload that changes the numbers behind it.
  std::string_view counter;
  // The values of the limit's key, encoded so that no two tuples collide (engine/key.h).
  std::string_view key;
  std::uint64_t cost = 1;
  // A shadow charge never refuses the request; it is charged only when the request is admitted and
  // it admits the call itself.
  bool shadow = false;
};

class Store {
 public:
  virtual ~Store() = default;

  // Decides all enforcing charges together: all admit and all are charged, or none is charged; then
  // the shadow charges. answers[i] is charge i's own verdict: what it would say alone (so, for a
  // request refused by another limit, an admitting charge reports its state uncharged).
  // Returns whether the request was admitted.
  // REQUIRES: answers.size() == charges.size(); at most 64 charges; no two with the same counter
  // and key. THREADS: any. ENSURES: a refused request leaves every state bit for bit as it was.
  virtual bool charge(std::span<const Charge> charges, Instant now,
                      std::span<Verdict> answers) = 0;

  // Gives back `cost` to each counter, clamped at fresh; unknown counters stay unknown.
  virtual void refund(std::span<const Charge> charges, Instant now) = 0;

  // Forgets the counters: they are fresh again.
  virtual void reset(std::span<const Charge> charges) = 0;
};

}  // namespace weir::store
