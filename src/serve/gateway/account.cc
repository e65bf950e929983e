#include "serve/gateway/account.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/amount.h"
#include "policy/policy.h"

namespace weir::gateway {
namespace {

constexpr Duration kSoonestRenewal = std::chrono::milliseconds(10);

bool is_corrected_later(const policy::Limit& limit) {
  return !limit.refund_when.empty() || !limit.settle.empty();
}

bool may_change(const engine::LimitDecision& one) {
  return algorithm_of(*one.numbers) == Algorithm::kConcurrency || is_corrected_later(*one.limit);
}

// Whether a status is one of "2xx" or "404".
bool is_one_of(int status, const std::vector<std::string>& patterns) {
  const std::string text = std::to_string(status);
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return pattern == text || (pattern.ends_with("xx") && pattern[0] == text[0]);
  });
}

// What the request cost by this response; nothing where it says nothing that can be understood.
std::optional<std::uint64_t> actual_cost(const policy::Limit& limit,
                                         const http1::ResponseHead& head) {
  if (is_one_of(head.status, limit.refund_when)) return 0;
  if (limit.settle.empty()) return std::nullopt;
  const http1::Found said = head.headers.find(limit.settle);
  if (!said || said.repeated()) return std::nullopt;
  return engine::parse_amount(said.value);
}

}  // namespace

Account::Account(Worker& worker)
    : worker_(worker), renewal_(worker.loop.timers(), [this] { renew(); }) {}

void Account::open(const engine::Decision& decision) {
  const auto& met = decision.limits;
  if (std::none_of(met.begin(), met.end(), may_change)) return;
  receipt_ = engine::Receipt::of(decision);
  if (receipt_.has_places()) {
    renewal_.expires_after(std::max(receipt_.shortest_timeout() / 2, kSoonestRenewal));
  }
}

void Account::on_response(const http1::ResponseHead& head) {
  if (!receipt_.any_limit(is_corrected_later)) return;
  const auto actual = [&head](const policy::Limit* limit) -> std::optional<std::uint64_t> {
    return limit == nullptr ? std::nullopt : actual_cost(*limit, head);
  };
  worker_.engine.settle(receipt_, actual, worker_.clock.now());
}

void Account::close() {
  renewal_.cancel();
  const engine::Receipt ended = std::exchange(receipt_, {});
  if (ended.has_places()) worker_.engine.release(ended, worker_.clock.now());
}

void Account::renew() {
  worker_.engine.renew(receipt_, worker_.clock.now());
  renewal_.expires_after(std::max(receipt_.shortest_timeout() / 2, kSoonestRenewal));
}

}  // namespace weir::gateway
