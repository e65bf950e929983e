// What counting one decision costs: its outcome, how full its bucket was, its wait, its key. And
// what a scrape costs with 1,000 active limits of 10,000.
//
// With --count N KIND it counts N decisions (allowed, denied, or none) and does nothing else, for
// callgrind.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/metrics.h"

namespace weir::engine {
namespace {

Verdict verdict_of(bool denied, std::uint64_t turn) {
  Verdict verdict;
  verdict.quota = 100;
  verdict.remaining = denied ? 0 : turn % 100;
  verdict.outcome = denied ? Outcome::kDenied : Outcome::kAllowed;
  verdict.retry_after = std::chrono::seconds(5);
  return verdict;
}

// WHY prepared: what the loop does beside is to be little.
std::vector<Verdict> verdicts(bool denied) {
  std::vector<Verdict> all;
  for (std::uint64_t turn = 0; turn < 128; ++turn) all.push_back(verdict_of(denied, turn));
  return all;
}

void count_decisions(std::uint64_t count, const std::string& kind) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  const std::string key = "2:ip,11:203.0.113.5,";
  const bool none = kind == "none";
  const bool denied = kind == "denied";
  const auto all = verdicts(denied);
  for (std::uint64_t turn = 0; turn < count; ++turn) {
    const Verdict* verdict = &all[turn % all.size()];
    benchmark::DoNotOptimize(verdict);
    if (none) continue;
    counters.count(*verdict, Source::kMemory, false, !denied);
    // A refusal a microsecond.
    if (denied) {
      metrics->denied_keys().count("login", key, at_ns(static_cast<std::int64_t>(turn) * 1000));
    }
  }
}

void BM_CountAllowed(benchmark::State& state) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  const auto all = verdicts(false);
  std::size_t turn = 0;
  for (auto _ : state) {
    counters.count(all[++turn % all.size()], Source::kMemory, false, true);
  }
}
BENCHMARK(BM_CountAllowed);

// A million refusals a second: most are passed over by the sketch.
void BM_CountDenied(benchmark::State& state) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  const std::string key = "2:ip,11:203.0.113.5,";
  const auto all = verdicts(true);
  std::int64_t turn = 0;
  for (auto _ : state) {
    counters.count(all[0], Source::kMemory, false, false);
    metrics->denied_keys().count("login", key, at_ns(++turn * 1000));
  }
}
BENCHMARK(BM_CountDenied);

void BM_Scrape(benchmark::State& state) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  for (int i = 0; i < 10'000; ++i) {
    const LimitCounters& counters = *metrics->of("limit_" + std::to_string(i));
    if (i % 10 != 0) continue;
    counters.count(verdict_of(false, 7), Source::kMemory, false, true);
    counters.count(verdict_of(true, 0), Source::kMemory, false, false);
  }
  std::size_t bytes = 0;
  for (auto _ : state) bytes = registry.to_text().size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Scrape)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::engine

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--count") == 0) {
    weir::engine::count_decisions(std::strtoull(argv[2], nullptr, 10), argv[3]);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
