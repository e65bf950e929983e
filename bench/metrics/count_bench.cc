// What counting one decision costs: its outcome, how full its bucket was, its wait, its key. And
// what a scrape costs with 1,000 active limits of 10,000.
//
// With --count N KIND it counts N decisions (allowed, denied, or none) and does nothing else, for
// callgrind.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

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

// WHY prepared, and of a fixed number: what the loop does beside is to be little.
std::array<Verdict, 128> verdicts(bool denied) {
  std::array<Verdict, 128> all;
  for (std::size_t turn = 0; turn < all.size(); ++turn) all[turn] = verdict_of(denied, turn);
  return all;
}

// The counters of one limit, and what is counted there.
class Counting {
 public:
  explicit Counting(bool denied) : verdicts_(verdicts(denied)) {
    // WHY hidden: in the engine they are read from the request, too.
    benchmark::DoNotOptimize(source_);
    benchmark::DoNotOptimize(shadow_);
  }

  void nothing(std::int64_t turn) const {
    const Verdict* verdict = &verdict_at(turn);
    benchmark::DoNotOptimize(verdict);
  }
  void allowed(std::int64_t turn) const {
    counters_.count(verdict_at(turn), source_, shadow_, true);
  }
  // A refusal a microsecond: most are passed over by the sketch.
  void denied(std::int64_t turn) const {
    counters_.count(verdict_at(turn), source_, shadow_, false);
    const std::uint64_t weight = DeniedKeys::weight(at_ns(turn * 1000));
    if (weight > 0) metrics_->denied_keys().count("login", key_, weight);
  }

 private:
  const Verdict& verdict_at(std::int64_t turn) const {
    return verdicts_[static_cast<std::size_t>(turn) % std::tuple_size_v<decltype(verdicts_)>];
  }

  metrics::Registry registry_;
  const std::shared_ptr<Metrics> metrics_ = Metrics::make(registry_);
  const LimitCounters& counters_ = *metrics_->of("login");
  const std::string key_ = "2:ip,11:203.0.113.5,";
  Source source_ = Source::kMemory;
  bool shadow_ = false;
  std::array<Verdict, 128> verdicts_;
};

template <auto kCount>
[[gnu::noinline]] void count_decisions(const Counting& counting, std::int64_t count) {
  for (std::int64_t turn = 0; turn < count; ++turn) (counting.*kCount)(turn);
}

void count_decisions(std::int64_t count, const std::string& kind) {
  const Counting counting(kind == "denied");
  if (kind == "none") count_decisions<&Counting::nothing>(counting, count);
  if (kind == "allowed") count_decisions<&Counting::allowed>(counting, count);
  if (kind == "denied") count_decisions<&Counting::denied>(counting, count);
}

void BM_CountAllowed(benchmark::State& state) {
  const Counting counting(false);
  std::int64_t turn = 0;
  for (auto _ : state) counting.allowed(++turn);
}
BENCHMARK(BM_CountAllowed);

void BM_CountDenied(benchmark::State& state) {
  const Counting counting(true);
  std::int64_t turn = 0;
  for (auto _ : state) counting.denied(++turn);
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
    weir::engine::count_decisions(std::atoll(argv[2]), argv[3]);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
