#include "limit/sliding_log.h"

#include <algorithm>
#include <string>

#include "limit/window.h"

namespace weir::limit {

Result<SlidingLogRule> SlidingLogRule::make(const SlidingLog& numbers) {
  if (auto error = check_window(numbers.window, 1)) return *std::move(error);
  if (numbers.limit > kMaxMarks) {
    return Error{ErrorCode::kInvalid,
                 "limit " + std::to_string(numbers.limit) +
                     " would keep a record of as many calls for each key; the largest is " +
                     std::to_string(kMaxMarks) + ", above it use sliding_counter"};
  }
  return SlidingLogRule(numbers.limit, numbers.window.count());
}

LogStep SlidingLogRule::decide(const LogView& log, std::uint64_t cost, std::int64_t now) const {
  const Live counted = live(log, now);
  std::uint64_t used = counted.used;
  LogStep step;
  step.at = now;
  step.expired = log.marks.size() - counted.marks.size();
  Verdict& verdict = step.verdict;
  if (cost > limit_) {
    verdict.outcome = Outcome::kNever;
  } else if (cost > 0 && used > limit_ - cost) {
    verdict.outcome = Outcome::kDenied;
    verdict.retry_after = until_left(counted, used - (limit_ - cost), now);
  } else if (cost > 0) {
    used += cost;
    step.charge = true;
  }
  step.clamp = cost > 0 && !counted.marks.empty() && counted.marks.back().at > now;
  verdict.quota = limit_;
  verdict.remaining = limit_ - std::min(used, limit_);
  if (used > 0) verdict.reset_after = until_left(counted, used, now);
  if (verdict.remaining < limit_) {
    verdict.next_after = until_left(counted, used - (limit_ - verdict.remaining) + 1, now);
  }
  return step;
}

SlidingLogRule::Live SlidingLogRule::live(const LogView& log, std::int64_t now) const {
  const auto first =
      std::partition_point(log.marks.begin(), log.marks.end(),
                           [&](const Mark& mark) { return mark.at <= now - window_; });
  Live counted;
  counted.marks = {first, log.marks.end()};
  counted.before = first == log.marks.begin() ? log.before : std::prev(first)->total;
  counted.used = counted.marks.empty() ? 0 : counted.marks.back().total - counted.before;
  return counted;
}

Duration SlidingLogRule::until_left(const Live& live, std::uint64_t calls, std::int64_t now) const {
  const auto last =
      std::partition_point(live.marks.begin(), live.marks.end(),
                           [&](const Mark& mark) { return mark.total - live.before < calls; });
  const std::int64_t made_at = last == live.marks.end() ? now : std::min(last->at, now);
  return Duration(made_at + window_ - now);
}

}  // namespace weir::limit
