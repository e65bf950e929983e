#include "policy/gateway_doubts.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::policy {
namespace {

using Kind = Attribute::Kind;

// Whether every preflight of a browser meets this.
bool takes_out_preflights(const Match& match) {
  return std::all_of(match.conditions.begin(), match.conditions.end(), [](const Condition& one) {
    if (one.attribute.kind == Kind::kMethod) return one.pattern.matches("OPTIONS");
    return one.attribute.kind == Kind::kHeader &&
           (one.attribute.name == "access-control-request-method" ||
            one.attribute.name == "origin");
  });
}

bool may_refuse_preflights(const Limit& limit) {
  if (limit.mode == Mode::kShadow || counts_messages(limit)) return false;
  if (std::any_of(limit.except.begin(), limit.except.end(), takes_out_preflights)) return false;
  return !limit.match || std::all_of(limit.match->conditions.begin(), limit.match->conditions.end(),
                                     [](const Condition& one) {
                                       return one.attribute.kind != Kind::kMethod ||
                                              one.pattern.matches("OPTIONS");
                                     });
}

Duration hold_of(const LeakyBucket& bucket) {
  const auto period = static_cast<std::uint64_t>(bucket.rate.period.count());
  const Wide ns = wide_product(bucket.queue, period) / bucket.rate.count;
  const auto most = static_cast<std::uint64_t>(Duration::max().count());
  return Duration(static_cast<std::int64_t>(ns > most ? most : static_cast<std::uint64_t>(ns)));
}

}  // namespace

bool counts_messages(const Limit& limit) {
  return limit.match &&
         std::any_of(limit.match->conditions.begin(), limit.match->conditions.end(),
                     [](const Condition& one) { return one.attribute.kind == Kind::kMessage; });
}

const Limit* find_counted_preflight(const Policy& policy) {
  if (std::any_of(policy.exempt.begin(), policy.exempt.end(), takes_out_preflights)) return nullptr;
  const auto found =
      std::find_if(policy.limits.begin(), policy.limits.end(), may_refuse_preflights);
  return found == policy.limits.end() ? nullptr : &*found;
}

std::optional<Duration> longest_hold(const Limit& limit) {
  std::optional<Duration> longest;
  for (const Numbers& numbers : limit.numbers) {
    const auto* bucket = std::get_if<LeakyBucket>(&numbers);
    if (bucket == nullptr || bucket->rate.count == 0 || bucket->queue == 0) continue;
    longest = std::max(longest.value_or(Duration{0}), hold_of(*bucket));
  }
  return longest;
}

}  // namespace weir::policy
