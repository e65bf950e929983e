// Adhoc: decides by numbers that come with the call in place of a policy's: CL.THROTTLE, ad-hoc
// limits of the check API, overrides of Envoy's rate limit service.
//
// A key whose numbers change from call to call keeps the time until it is full, at most the new
// one. Compiled numbers are kept for the next calls, per thread, at most kMaxRules of them.
//
// THREADS: any.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/at_rest.h"
#include "engine/engine.h"
#include "store/store.h"
#include "weir/numbers.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::engine {

class Adhoc {
 public:
  static constexpr std::size_t kMaxRules = 1024;

  struct Call {
    // Which family of counters: "~throttle". Begins with what no limit's name can hold, so that no
    // counter of a policy is touched. Static text.
    std::string_view family;
    std::string_view key;
    TokenBucket numbers;  // keeps_time is set
    std::uint64_t cost = 1;
    bool refund = false;  // gives `cost` back, clamped at full, and reports what is left
  };

  // Told the answer, once: before decide() returns where the store answers at once, else later on
  // the calling thread's loop. Where the store failed, it is what Engine::stand_in() says.
  using Done = std::function<void(const store::Answer& answer)>;

  // REQUIRES: both outlive it, and the engine has a policy.
  Adhoc(store::Store& store, Engine& engine) : store_(store), engine_(engine) {}

  // ERRORS: kInvalid for numbers that the state cannot hold, or the store cannot count by.
  Result<bool> check(const TokenBucket& numbers) const;

  // ERRORS: as check(); then `done` never runs and nothing is charged.
  Result<bool> decide(const Call& call, Instant now, Done done);

 private:
  struct Asked;
  using AskedAtRest = AtRest<Asked, 256>;

  void give_back(Asked* asked);
  void ask(Asked* asked);
  void take_answer(Asked* asked);
  void finish(Asked* asked);

  store::Store& store_;
  Engine& engine_;
};

}  // namespace weir::engine
