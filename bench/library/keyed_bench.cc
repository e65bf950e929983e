// Many buckets by key: one million keys of 20 bytes, uniform and Zipf (exponent 1.01), alone and in
// batches of 16, one and two threads; and keys that are new. And the memory they take, and what a
// flood of fresh keys does.
//
// Every row is `ns a check`, to be read beside reference_test.go (a map, a mutex, x/time/rate).
// With --instructions it does 200,000 checks one by one and as many in batches, for callgrind.

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "weir/keyed_limiter.h"

namespace weir {
namespace {

constexpr std::size_t kKeys = 1 << 20;
constexpr std::size_t kPicks = 1 << 20;
constexpr std::size_t kBatch = 16;
constexpr std::size_t kKeySize = 20;
const TokenBucket kNumbers{{10, std::chrono::seconds(1)}, 20};

std::string key_of(std::size_t i) {
  return "user:" + std::to_string(100'000'000 + i) + "-suffi";
}

// The keys of kPicks calls, one after the other in memory. WHY: a caller has just read the key it
// asks for; what a check costs is what it has to fetch itself.
class Calls {
 public:
  Calls() = default;
  template <typename Pick>
  explicit Calls(Pick pick) {
    text_.reserve(kPicks * kKeySize);
    for (std::size_t i = 0; i < kPicks; ++i) text_ += key_of(pick());
  }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(text_).substr(i % kPicks * kKeySize, kKeySize);
  }

 private:
  std::string text_;
};

struct Workload {
  std::size_t count;
  Calls uniform;
  Calls zipf;

  explicit Workload(std::size_t keys) : count(keys) {
    std::mt19937_64 random(1);
    uniform = Calls([&] { return random() % count; });
    std::vector<double> weights(count);
    for (std::size_t i = 0; i < count; ++i) weights[i] = std::pow(double(i) + 1, -1.01);
    std::discrete_distribution<std::uint32_t> skewed(weights.begin(), weights.end());
    zipf = Calls([&] { return skewed(random); });
  }
};

// A limiter that has seen every key once.
struct Filled {
  Workload work;
  Store store;
  KeyedLimiter limiter;
  std::int64_t start = system_clock().now().steady_ns;

  explicit Filled(std::size_t count)
      : work(count),
        store(Store::memory({.max_keys = 2 * count})),
        limiter(*KeyedLimiter::make("bench", {kNumbers}, store)) {
    for (std::size_t i = 0; i < count; ++i) limiter.check(key_of(i), 1, at_ns(start));
  }
};

Filled& filled(std::size_t count) {
  static std::mutex mutex;
  static std::unique_ptr<Filled> current;
  const std::lock_guard lock(mutex);
  if (!current || current->work.count != count) {
    current.reset();
    current = std::make_unique<Filled>(count);
  }
  return *current;
}

void run_each(benchmark::State& state, Filled& on, const Calls& calls) {
  std::size_t i = static_cast<std::size_t>(state.thread_index()) * kPicks / 2;
  std::int64_t now = on.start;
  for (auto _ : state) {
    benchmark::DoNotOptimize(on.limiter.allow(calls[i++], 1, at_ns(now += 100)));
  }
}

void run_batches(benchmark::State& state, Filled& on, const Calls& calls) {
  std::array<KeyedCall, kBatch> batch;
  std::array<Verdict, kBatch> verdicts;
  std::size_t i = 0;
  std::int64_t now = on.start;
  while (state.KeepRunningBatch(kBatch)) {
    for (KeyedCall& call : batch) call.key = calls[i++];
    on.limiter.check_batch(batch, verdicts, at_ns(now += 100));
    benchmark::DoNotOptimize(verdicts);
  }
}

void KeyedUniform(benchmark::State& state) {
  Filled& on = filled(kKeys);
  run_each(state, on, on.work.uniform);
}
void KeyedZipf(benchmark::State& state) {
  Filled& on = filled(kKeys);
  run_each(state, on, on.work.zipf);
}
void KeyedUniformTwoThreads(benchmark::State& state) {
  KeyedUniform(state);
}
void KeyedZipfTwoThreads(benchmark::State& state) {
  KeyedZipf(state);
}
void BatchUniform(benchmark::State& state) {
  Filled& on = filled(kKeys);
  run_batches(state, on, on.work.uniform);
}
void BatchZipf(benchmark::State& state) {
  Filled& on = filled(kKeys);
  run_batches(state, on, on.work.zipf);
}
// Each call is the first of its key.
void FreshKeys(benchmark::State& state) {
  std::size_t next = 0;
  const Calls calls([&] { return next++; });
  KeyedLimiter limiter =
      *KeyedLimiter::make("fresh", {kNumbers}, Store::memory({.max_keys = 2 * kPicks}));
  std::int64_t now = system_clock().now().steady_ns;
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(limiter.allow(calls[i++], 1, at_ns(now += 100)));
}
void ByNumberOfKeys(benchmark::State& state) {
  Filled& on = filled(static_cast<std::size_t>(state.range(0)));
  run_each(state, on, on.work.uniform);
}
BENCHMARK(KeyedUniform);
BENCHMARK(KeyedZipf);
BENCHMARK(BatchUniform);
BENCHMARK(BatchZipf);
BENCHMARK(FreshKeys)->Iterations(kPicks);
// WHY after those: a store that two threads have used stays shared.
BENCHMARK(KeyedUniformTwoThreads)->Threads(2);
BENCHMARK(KeyedZipfTwoThreads)->Threads(2);
BENCHMARK(ByNumberOfKeys)->RangeMultiplier(10)->Range(1000, 10'000'000);

// Resident memory of this process, in MB.
double resident_mb() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * 4096 / 1e6;
}

std::string_view numbered(std::array<char, 24>& buffer, std::uint64_t i) {
  const int size = std::snprintf(buffer.data(), buffer.size(), "user:%015llu",
                                 static_cast<unsigned long long>(i));
  return std::string_view(buffer.data(), static_cast<std::size_t>(size));
}

// One million live buckets, and then a flood of fresh keys: how much memory, and whether a drained
// key is still refused.
void print_memory(std::uint64_t flood) {
  const double empty = resident_mb();
  const Store store = Store::memory({.max_keys = 1'000'000});
  const TokenBucket slow{{1, std::chrono::hours(1)}, 2};  // all stay live
  KeyedLimiter limiter = *KeyedLimiter::make("memory", {slow}, store);
  std::array<char, 24> buffer;
  limiter.allow("drained", 2, at_ns(1));
  for (std::uint64_t i = 1; i < 1'000'000; ++i) limiter.allow(numbered(buffer, i), 1, at_ns(1));
  const double full = resident_mb();
  std::printf("memory of 1,000,000 live buckets: %.1f MB\n", full - empty);
  for (std::uint64_t i = 0; i < flood; ++i) {
    limiter.allow(numbered(buffer, 1'000'000 + i), 1, at_ns(1));
  }
  std::printf("after %llu fresh keys: %.1f MB more, %zu keys, drained key %s\n",
              static_cast<unsigned long long>(flood), resident_mb() - full, store.keys(),
              limiter.allow("drained", 1, at_ns(1)) ? "FORGOTTEN" : "still refused");
}

void only_checks() {
  Filled on(10'000);
  std::array<KeyedCall, kBatch> batch;
  std::array<Verdict, kBatch> verdicts;
  for (std::size_t i = 0; i < 200'000; i += kBatch) {
    const std::int64_t now = on.start + static_cast<std::int64_t>(i);
    for (std::size_t j = 0; j < kBatch; ++j) {
      batch[j].key = on.work.uniform[i + j];
      on.limiter.allow(batch[j].key, 1, at_ns(now));
    }
    on.limiter.check_batch(batch, verdicts, at_ns(now));
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--instructions") == 0) {
    weir::only_checks();
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--memory") == 0) {
    weir::print_memory(std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
