#include "limit/rule.h"

#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace weir::limit {
namespace {

constexpr std::uint64_t kUnlimitedQuota = std::numeric_limits<std::uint64_t>::max();

template <typename A>
constexpr bool is_log = std::is_same_v<A, SlidingLogRule> || std::is_same_v<A, ConcurrencyRule>;

template <typename A>
constexpr bool is_window =
    std::is_same_v<A, SlidingCounterRule> || std::is_same_v<A, FixedWindowRule>;

template <typename A>
constexpr bool is_unlimited = std::is_same_v<A, Unlimited>;

constexpr const char* kWrongDoor = "a rule that keeps a log decides on a log, any other on a state";

// Algorithm by algorithm, what makes it out of a person's numbers.
Result<TokenBucketRule> compile(const TokenBucket& n) {
  return TokenBucketRule::make(n);
}
Result<LeakyBucketRule> compile(const LeakyBucket& n) {
  return LeakyBucketRule::make(n);
}
Result<FixedWindowRule> compile(const FixedWindow& n) {
  return FixedWindowRule::make(n);
}
Result<SlidingLogRule> compile(const SlidingLog& n) {
  return SlidingLogRule::make(n);
}
Result<SlidingCounterRule> compile(const SlidingCounter& n) {
  return SlidingCounterRule::make(n);
}
Result<ConcurrencyRule> compile(const Concurrency& n) {
  return ConcurrencyRule::make(n);
}
Result<Unlimited> compile(const Unlimited& n) {
  return n;
}

// A state after what was charged before has become something else: a bucket's, or a window's, which
// must know when it was charged.
template <typename Algorithms, typename OfBucket, typename OfWindow>
std::optional<State> corrected(const Algorithms& algorithm, const OfBucket& of_bucket,
                               const OfWindow& of_window) {
  return std::visit(
      [&]<typename A>(const A& one) -> std::optional<State> {
        if constexpr (is_unlimited<A>) {
          return std::nullopt;
        } else if constexpr (is_log<A>) {
          check_failed("!keeps_log()", kWrongDoor, __FILE__, __LINE__);
        } else if constexpr (is_window<A>) {
          return of_window(one);
        } else {
          return of_bucket(one);
        }
      },
      algorithm);
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Rule::Rule(const Numbers& numbers, Algorithms algorithm)
    : numbers_(numbers), algorithm_(std::move(algorithm)), serial_(next_serial()) {}

Result<Rule> Rule::make(const Numbers& numbers) {
  return std::visit(
      [&numbers](const auto& alternative) -> Result<Rule> {
        auto made = compile(alternative);
        if (!made) return made.error();
        return Rule(numbers, *made);
      },
      numbers);
}

std::uint64_t Rule::quota() const {
  return std::visit(
      []<typename A>(const A& algorithm) -> std::uint64_t {
        if constexpr (is_unlimited<A>) {
          return kUnlimitedQuota;
        } else {
          return algorithm.quota();
        }
      },
      algorithm_);
}

bool Rule::keeps_log() const {
  return std::holds_alternative<SlidingLogRule>(algorithm_) ||
         std::holds_alternative<ConcurrencyRule>(algorithm_);
}

Step Rule::decide(const State* state, std::uint64_t cost, Instant now) const {
  const std::int64_t ns = read(timeline(), now);
  return std::visit(
      [&]<typename A>(const A& algorithm) -> Step {
        if constexpr (is_unlimited<A>) {
          Step step;
          step.verdict.quota = step.verdict.remaining = kUnlimitedQuota;
          return step;
        } else if constexpr (is_log<A>) {
          check_failed("!keeps_log()", kWrongDoor, __FILE__, __LINE__);
        } else {
          return algorithm.decide(state, cost, ns);
        }
      },
      algorithm_);
}

LogStep Rule::decide(const LogView& log, std::uint64_t cost, Instant now) const {
  const std::int64_t ns = read(timeline(), now);
  if (const auto* calls = std::get_if<ConcurrencyRule>(&algorithm_)) {
    return calls->decide(log, cost, ns);
  }
  const auto* calls = std::get_if<SlidingLogRule>(&algorithm_);
  WEIR_CHECK(calls != nullptr, kWrongDoor);
  return calls->decide(log, cost, ns);
}

std::optional<State> Rule::refund(const State& state, std::uint64_t cost, Instant now,
                                  std::optional<Instant> charged_at) const {
  const std::int64_t ns = read(timeline(), now);
  return corrected(
      algorithm_, [&](const auto& bucket) { return bucket.refund(state, cost, ns); },
      [&](const auto& window) {
        return window.refund(state, cost, ns, read(timeline(), charged_at));
      });
}

std::optional<State> Rule::overdraw(const State* state, std::uint64_t cost, Instant now,
                                    std::optional<Instant> charged_at) const {
  const std::int64_t ns = read(timeline(), now);
  return corrected(
      algorithm_, [&](const auto& bucket) { return bucket.overdraw(state, cost, ns); },
      [&](const auto& window) {
        return window.overdraw(state, cost, ns, read(timeline(), charged_at));
      });
}

std::optional<State> Rule::adopt(const Rule& older, const State& state, Instant now) const {
  const std::int64_t ns = read(timeline(), now);
  return std::visit(
      [&]<typename A>(const A& algorithm) -> std::optional<State> {
        const A* before = std::get_if<A>(&older.algorithm_);
        if (before == nullptr) return std::nullopt;
        if constexpr (is_unlimited<A>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<A, FixedWindowRule>) {
          const auto& mine = std::get<FixedWindow>(numbers_);
          const auto& theirs = std::get<FixedWindow>(older.numbers_);
          if (mine.window != theirs.window || mine.align != theirs.align) return std::nullopt;
          return algorithm.adopt(state, ns);
        } else if constexpr (std::is_same_v<A, SlidingLogRule>) {
          if (algorithm.window() != before->window()) return std::nullopt;
          return state;
        } else if constexpr (std::is_same_v<A, ConcurrencyRule>) {
          return state;  // what is in flight stays so, whatever the timeout
        } else {
          return algorithm.adopt(*before, state, ns);
        }
      },
      algorithm_);
}

std::int64_t Rule::fresh_at(const State& state) const {
  return std::visit(
      [&]<typename A>(const A& algorithm) -> std::int64_t {
        if constexpr (is_unlimited<A>) {
          return std::numeric_limits<std::int64_t>::min();
        } else if constexpr (is_log<A>) {
          return static_cast<std::int64_t>(state.word[1]) + algorithm.window();
        } else {
          return algorithm.fresh_at(state);
        }
      },
      algorithm_);
}

Timeline Rule::timeline() const {
  return std::holds_alternative<FixedWindowRule>(algorithm_) ? Timeline::kWall : Timeline::kSteady;
}

}  // namespace weir::limit
