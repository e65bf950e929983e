#include "limit/concurrency.h"

#include <string>

namespace weir::limit {

Result<ConcurrencyRule> ConcurrencyRule::make(const Concurrency& numbers) {
  if (numbers.limit > kMaxMarks) {
    return Error{ErrorCode::kInvalid, "limit " + std::to_string(numbers.limit) +
                                          " is more calls at once than can be kept track of; the "
                                          "largest is " +
                                          std::to_string(kMaxMarks)};
  }
  auto calls = SlidingLogRule::make(SlidingLog{numbers.limit, numbers.timeout});
  if (!calls) return Error{calls.error().code, "timeout: " + calls.error().message};
  return ConcurrencyRule(*calls);
}

LogStep ConcurrencyRule::decide(const LogView& log, std::uint64_t cost, std::int64_t now) const {
  LogStep step = calls_.decide(log, cost, now);
  step.verdict.retry_known = step.verdict.outcome != Outcome::kDenied;
  step.verdict.reset_after = Duration(0);
  step.verdict.next_after = Duration(0);
  return step;
}

}  // namespace weir::limit
