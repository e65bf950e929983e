#include "oracle/generate.h"

#include <algorithm>
#include <cstdlib>

namespace weir::oracle {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

Rate Generator::rate() {
  // The primes leave remainders everywhere; the last ones are finer than the clock.
  const auto count = one_of<std::uint64_t>(
      {0, 1, 1, 2, 3, 5, 7, 17, 29, 60, 997, 10'000, 600'000'000, 999'999'937, 1'500'000'000});
  const auto period = one_of<std::int64_t>({1, 7, 1'000, 1'000'003, kSecond / 2, kSecond, kSecond,
                                            3 * kSecond, 60 * kSecond, 3'600 * kSecond,
                                            86'400 * kSecond, 30 * 86'400 * kSecond});
  return Rate{count, Duration(period)};
}

Duration Generator::span() {
  return Duration(
      one_of<std::int64_t>({1, 2, 10, 1'000'003, kSecond / 2, kSecond, 3 * kSecond, 60 * kSecond,
                            3'600 * kSecond, 86'400 * kSecond, 365 * 86'400 * kSecond}));
}

std::uint64_t Generator::size() {
  return one_of<std::uint64_t>({0, 1, 1, 2, 3, 5, 10, 17, 100, 70'000});
}

Numbers Generator::numbers(Algorithm algorithm) {
  const Align align = one_of({Align::kEpoch, Align::kFirst});
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucket{rate(), size()};
    case Algorithm::kLeakyBucket:
      return LeakyBucket{rate(), size()};
    case Algorithm::kFixedWindow:
      if (one_in(2)) return FixedWindow{size(), span(), align};
      return FixedWindow{
          size(), Calendar{static_cast<CalendarUnit>(below(6)),
                           one_of<std::string>({"UTC", "Asia/Shanghai", "America/New_York",
                                                "Australia/Lord_Howe", "America/Sao_Paulo"})}};
    case Algorithm::kSlidingLog:
      return SlidingLog{size(), span()};
    case Algorithm::kSlidingCounter:
      return SlidingCounter{size(), span(), align};
    case Algorithm::kConcurrency:
      return Concurrency{size(), span()};
    case Algorithm::kUnlimited:
      return Unlimited{};
  }
  return Unlimited{};
}

std::uint64_t Generator::cost(std::uint64_t quota) {
  if (one_in(2)) return 1;
  const std::uint64_t within = quota == 0 ? 0 : 1 + below(quota);
  return one_of<std::uint64_t>({0, 2, within, within, quota, quota + 1, ~std::uint64_t{0}});
}

Duration Generator::pause(const Verdict& last, Duration typical) {
  constexpr std::int64_t kLongest = 1'000LL * 86'400 * kSecond;
  const std::int64_t told = last.retry_after.count();
  const std::int64_t some = 1 + static_cast<std::int64_t>(below(2 * typical.count() + 1));
  const auto ns = one_of<std::int64_t>({0, 0, 0, 1, some, some, typical.count(), told, told - 1,
                                        last.next_after.count(), last.reset_after.count(),
                                        last.reset_after.count() - 1, 10 * some});
  return Duration(std::clamp<std::int64_t>(ns, 0, kLongest));
}

std::uint64_t run_seed() {
  static const std::uint64_t seed = [] {
    if (const char* given = std::getenv("WEIR_SEED")) return std::strtoull(given, nullptr, 10);
    return static_cast<unsigned long long>(std::random_device{}());
  }();
  return seed;
}

Duration typical_span(const Numbers& numbers) {
  struct Span {
    static Duration of(const Rate& r) {
      return std::max(Duration(1), r.period / static_cast<std::int64_t>(std::max<std::uint64_t>(
                                                  1, std::min<std::uint64_t>(r.count, kSecond))));
    }
    Duration operator()(const TokenBucket& n) const { return of(n.rate); }
    Duration operator()(const LeakyBucket& n) const { return of(n.rate); }
    Duration operator()(const FixedWindow& n) const {
      const auto* length = std::get_if<Duration>(&n.window);
      return length != nullptr ? *length / 4 : Duration(std::chrono::hours(5));
    }
    Duration operator()(const SlidingLog& n) const { return n.window / 4; }
    Duration operator()(const SlidingCounter& n) const { return n.window / 4; }
    Duration operator()(const Concurrency& n) const { return n.timeout / 4; }
    Duration operator()(const Unlimited&) const { return Duration(1); }
  };
  return std::visit(Span{}, numbers);
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[] = {"TokenBucket", "LeakyBucket",    "FixedWindow",
                                         "SlidingLog",  "SlidingCounter", "Concurrency"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

}  // namespace weir::oracle
