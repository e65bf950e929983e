// One bucket: what a decision costs, by the way the time is told.
//
// Every row is `ns a call`, to be read beside reference.go (golang.org/x/time/rate) by `run`.

#include <benchmark/benchmark.h>

#include "weir/limiter.h"

namespace weir {
namespace {

// Fast enough that every call is admitted: what x/time/rate's own benchmark does.
const TokenBucket kOpen{{1'000'000'000, std::chrono::seconds(1)}, 1'000'000'000};
const TokenBucket kShut{{1, std::chrono::hours(1)}, 1};

void NowGiven(benchmark::State& state) {
  Limiter limiter = *Limiter::make(kOpen);
  std::int64_t now = system_clock().now().steady_ns;
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow(1, at_ns(now += 100)));
}
BENCHMARK(NowGiven);

void Denied(benchmark::State& state) {
  Limiter limiter = *Limiter::make(kShut);
  std::int64_t now = system_clock().now().steady_ns;
  limiter.allow(1, at_ns(now));
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow(1, at_ns(now += 100)));
}
BENCHMARK(Denied);

void DeniedAtOneInstant(benchmark::State& state) {
  Limiter limiter = *Limiter::make(kShut);
  limiter.allow(1, at_ns(0));
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow(1, at_ns(0)));
}
BENCHMARK(DeniedAtOneInstant);

void Verdicts(benchmark::State& state) {
  Limiter limiter = *Limiter::make(kOpen);
  std::int64_t now = system_clock().now().steady_ns;
  for (auto _ : state) benchmark::DoNotOptimize(limiter.check(1, at_ns(now += 100)));
}
BENCHMARK(Verdicts);

void SteadyClock(benchmark::State& state) {
  Limiter limiter = *Limiter::make(kOpen);
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow());
}
BENCHMARK(SteadyClock);

void TimeStampCounter(benchmark::State& state) {
  const TscClock clock;
  Limiter limiter = *Limiter::make(kOpen, {.clock = &clock});
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow());
}
BENCHMARK(TimeStampCounter);

void NowGivenTwoThreads(benchmark::State& state) {
  static Limiter limiter = *Limiter::make(kOpen);
  std::int64_t now = system_clock().now().steady_ns;
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow(1, at_ns(now += 100)));
}
BENCHMARK(NowGivenTwoThreads)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
