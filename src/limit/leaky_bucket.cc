#include "limit/leaky_bucket.h"

#include <limits>

namespace weir::limit {

Result<LeakyBucketRule> LeakyBucketRule::make(const LeakyBucket& numbers) {
  if (numbers.queue == std::numeric_limits<std::uint64_t>::max()) {
    return Error{ErrorCode::kInvalid,
                 "queue 18446744073709551615 is too long; the largest is "
                 "18446744073709551614"};
  }
  auto slots = TokenBucketRule::make(TokenBucket{numbers.rate, numbers.queue + 1});
  if (!slots) {
    return Error{slots.error().code,
                 "queue " + std::to_string(numbers.queue) +
                     " counts as a burst of one more: " + slots.error().message};
  }
  return LeakyBucketRule(*slots, numbers.rate.count == 0);
}

Step LeakyBucketRule::decide(const State* state, std::uint64_t cost, std::int64_t now) const {
  Step step = slots_.decide(state, frozen_ && cost > 0 && cost <= quota() ? quota() : cost, now);
  if (cost > 0 && step.verdict.allowed()) {
    step.verdict.delay = slots_.wait(state, now);
  }
  return step;
}

}  // namespace weir::limit
