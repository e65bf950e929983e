// Engine: request -> limits -> store -> decision.
//
// Holds the policy in force, compiled and immutable, and swaps it atomically on reload: a request
// finishes under the policy it began with. The engine reads no clock.
//
// THREADS: decide() from any thread; install() from one at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attributes.h"
#include "policy/policy.h"
#include "store/store.h"
#include "weir/decision.h"
#include "weir/result.h"

namespace weir::engine {

class CompiledPolicy;  // compiled_policy.h

// One limit that a request met. `name` lives as long as the decision's policy.
struct LimitDecision {
  std::string_view name;
  const policy::Limit* limit = nullptr;
  const Numbers* numbers = nullptr;  // of the pair of numbers that answered
  Verdict verdict;
  bool shadow = false;
  Source source = Source::kMemory;
  Reason reason = Reason::kNone;
};

struct Decision {
  bool allowed = true;
  // The limit that the decision names (contract: the denying one with the longest wait, else the
  // one with the least share left), or -1 when no enforcing limit was met.
  int named = -1;
  Reason reason = Reason::kNone;
  Source source = Source::kMemory;
  std::vector<LimitDecision> limits;  // every limit met, in file order, shadow ones included
  Duration delay{0};                  // how long to hold an admitted request
  std::shared_ptr<const CompiledPolicy> policy;  // keeps the views above alive

  const LimitDecision* named_limit() const { return named < 0 ? nullptr : &limits[named]; }
};

// What a request may cost and whether it was readable at all.
struct RequestError {
  std::string message;  // names the attribute and what is allowed
};

class Engine {
 public:
  // REQUIRES: the store outlives the engine.
  explicit Engine(store::Store& store);
  ~Engine();

  // Puts a policy in force. ERRORS: kInvalid when its numbers cannot be held; then nothing changes.
  Result<bool> install(policy::Policy policy);

  // The policy in force; never null after the first install().
  std::shared_ptr<const CompiledPolicy> current() const;

  // Told the decision, once: before decide() returns where the store answers at once, else later on
  // the calling thread's loop.
  using Done = std::function<void(Decision decision)>;

  // Decides one request. `cost` replaces the limits' own cost when given (0 is a peek).
  // REQUIRES: `attributes` lives until `done` has run.
  void decide(const Attributes& attributes, Instant now, std::optional<std::uint64_t> cost,
              Done done);

 private:
  store::Store& store_;
  std::atomic<std::shared_ptr<const CompiledPolicy>> current_;
};

}  // namespace weir::engine
