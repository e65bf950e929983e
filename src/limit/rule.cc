#include "limit/rule.h"

#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>

namespace weir::limit {
namespace {

constexpr std::uint64_t kUnlimitedQuota = std::numeric_limits<std::uint64_t>::max();

template <typename A>
constexpr bool is_unlimited = std::is_same_v<std::decay_t<A>, Unlimited>;

template <typename A>
constexpr bool counts_in_windows = std::is_same_v<std::decay_t<A>, SlidingCounterRule>;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Rule::Rule(const Numbers& numbers, Algorithms algorithm)
    : numbers_(numbers), algorithm_(std::move(algorithm)), serial_(next_serial()) {}

Result<Rule> Rule::make(const Numbers& numbers) {
  const auto compile = [&numbers](auto made) -> Result<Rule> {
    if (!made) return made.error();
    return Rule(numbers, *made);
  };
  if (const auto* bucket = std::get_if<TokenBucket>(&numbers)) {
    return compile(TokenBucketRule::make(*bucket));
  }
  if (const auto* bucket = std::get_if<LeakyBucket>(&numbers)) {
    return compile(LeakyBucketRule::make(*bucket));
  }
  if (const auto* counter = std::get_if<SlidingCounter>(&numbers)) {
    return compile(SlidingCounterRule::make(*counter));
  }
  if (std::holds_alternative<Unlimited>(numbers)) return Rule(numbers, Unlimited{});
  return Error{ErrorCode::kUnsupported, "this algorithm is not built yet"};
}

std::uint64_t Rule::quota() const {
  return std::visit(
      [](const auto& algorithm) -> std::uint64_t {
        if constexpr (is_unlimited<decltype(algorithm)>) {
          return kUnlimitedQuota;
        } else {
          return algorithm.quota();
        }
      },
      algorithm_);
}

Step Rule::decide(const State* state, std::uint64_t cost, Instant now) const {
  const std::int64_t ns = read(timeline(), now);
  return std::visit(
      [&](const auto& algorithm) {
        if constexpr (is_unlimited<decltype(algorithm)>) {
          Step step;
          step.verdict.quota = step.verdict.remaining = kUnlimitedQuota;
          return step;
        } else {
          return algorithm.decide(state, cost, ns);
        }
      },
      algorithm_);
}

std::optional<State> Rule::refund(const State& state, std::uint64_t cost, Instant now,
                                  std::optional<Instant> charged_at) const {
  const std::int64_t ns = read(timeline(), now);
  return std::visit(
      [&](const auto& algorithm) -> std::optional<State> {
        using A = decltype(algorithm);
        if constexpr (is_unlimited<A>) {
          return std::nullopt;
        } else if constexpr (counts_in_windows<A>) {
          std::optional<std::int64_t> at;
          if (charged_at) at = read(timeline(), *charged_at);
          return algorithm.refund(state, cost, ns, at);
        } else {
          return algorithm.refund(state, cost, ns);
        }
      },
      algorithm_);
}

std::optional<State> Rule::adopt(const Rule& older, const State& state, Instant now) const {
  const std::int64_t ns = read(timeline(), now);
  return std::visit(
      [&](const auto& algorithm) -> std::optional<State> {
        using A = std::decay_t<decltype(algorithm)>;
        if constexpr (is_unlimited<A>) {
          return std::nullopt;
        } else {
          const A* before = std::get_if<A>(&older.algorithm_);
          if (before == nullptr) return std::nullopt;
          return algorithm.adopt(*before, state, ns);
        }
      },
      algorithm_);
}

std::int64_t Rule::fresh_at(const State& state) const {
  return std::visit(
      [&](const auto& algorithm) -> std::int64_t {
        if constexpr (is_unlimited<decltype(algorithm)>) {
          return std::numeric_limits<std::int64_t>::min();
        } else {
          return algorithm.fresh_at(state);
        }
      },
      algorithm_);
}

Timeline Rule::timeline() const {
  return Timeline::kSteady;
}

}  // namespace weir::limit
