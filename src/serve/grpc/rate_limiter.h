// RateLimiter: Envoy's ShouldRateLimit over the engine.
//
// Each descriptor is one request to the engine. Its entries become attributes: renamed where
// `grpc.attributes` says so; entries that name no attribute are of no use to a limit and are left
// out; of an entry that stands twice the first counts. A descriptor with an override of its own is
// decided by that override's numbers alone, counted by the domain and all its entries.
//
// With `grpc.atomic`, what other descriptors were charged is given back when one is over its limit.
//
// THREADS: any.

#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/decision_timer.h"
#include "engine/engine.h"
#include "engine/request_counters.h"
#include "serve/grpc/method.h"
#include "weir/result.h"
#include "wire/grpc/rate_limit.h"

namespace weir::grpc {

class RateLimiter {
 public:
  // Told the answer, once: before decide() returns where the store answers at once, else later on
  // the calling thread's loop.
  // ERRORS: kInvalid and kExhausted for a request that is wrong, kUnavailable where a limit whose
  // store failed says `on_error: deny`.
  // WHY a reference: the memory of the answer, and what it views, are used again.
  using Answer = Result<std::reference_wrapper<const rls::Response>>;
  using Done = std::function<void(const Answer&)>;

  // REQUIRES: all outlive it, and the engine has a policy.
  RateLimiter(engine::Engine& engine, engine::Adhoc& adhoc, const Clock& clock,
              metrics::Registry& registry);

  // `message` is a RateLimitRequest; it is copied.
  void decide(std::string_view message, Done done) const;

 private:
  struct Call;

  void start(Call& call) const;
  void ask_engine(Call& call, std::size_t index) const;
  void ask_override(Call& call, std::size_t index) const;
  void answered(Call& call) const;
  void give_back(const Call& call) const;
  void finish(Call* call, const Answer& answer) const;

  engine::Engine& engine_;
  engine::Adhoc& adhoc_;
  const Clock& clock_;
  const engine::RequestCounters requests_;
  const engine::DecisionTimer timer_;
};

inline constexpr std::string_view kRateLimitService = "envoy.service.ratelimit.v3.RateLimitService";

// REQUIRES: `limiter` outlives the method.
Method rate_limit_method(const RateLimiter& limiter);

}  // namespace weir::grpc
