// How long one decision takes, from attributes to answer, over the memory store: with 10 limits and
// with 10,000 limits and 100,000 overrides. A request meets three limits in both.

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "engine/answer.h"
#include "engine/engine.h"
#include "store/memory/memory_store.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

// WHY noinline: inlined, gcc takes malloc and free for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;

class BenchRequest final : public Attributes {
 public:
  std::optional<std::string_view> find(const policy::Attribute& attribute) const override {
    switch (attribute.kind) {
      case Kind::kUser:
        return user;
      case Kind::kMethod:
        return "GET";
      case Kind::kPath:
        return path;
      case Kind::kHost:
        return "api.example.test";
      default:
        return std::nullopt;
    }
  }
  std::optional<IpAddress> ip() const override { return address; }

  std::string user = "user-1";
  std::string path = "/api/v1/things/7";
  IpAddress address = IpAddress::v4(0xcb007105);
};

policy::Limit make_limit(std::string name, std::vector<Kind> key) {
  policy::Limit limit;
  limit.name = std::move(name);
  limit.numbers = {TokenBucket{Rate{1'000'000'000, std::chrono::seconds(1)}, 1'000'000'000}};
  for (const Kind kind : key) limit.key.push_back({{policy::Attribute{kind, {}}}});
  return limit;
}

policy::Policy make_policy(int limits, int overrides) {
  policy::Policy policy;
  policy.limits.push_back(make_limit("global", {}));
  policy.limits.push_back(make_limit("per_user", {Kind::kUser}));
  for (int i = 0; i < overrides; ++i) {
    policy.limits.back().overrides.push_back(
        {{"user-" + std::to_string(i)}, policy.limits.back().numbers});
  }
  for (int i = 0; i + 2 < limits; ++i) {
    policy::Limit limit = make_limit("path" + std::to_string(i), {Kind::kIp});
    policy::Condition condition{policy::Attribute{Kind::kPath, {}}, {}};
    const auto added =
        condition.pattern.add_path("/api/v1/things/" + std::to_string(i) + (i % 2 ? "" : "/**"));
    if (!added) std::abort();
    limit.match = policy::Match{{condition}};
    policy.limits.push_back(std::move(limit));
  }
  return policy;
}

void decide(benchmark::State& state) {
  store::MemoryStore store;
  Engine engine(store);
  const auto installed = engine.install(
      make_policy(static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
  if (!installed) std::abort();
  const BenchRequest request;
  AnswerHeaders headers;
  std::string out;
  std::int64_t now = 1'700'000'000'000'000'000;
  const std::uint64_t before = allocations.load();
  for (auto _ : state) {
    engine.decide(request, at_ns(now += 1000), std::nullopt, [&](Decision decision) {
      if (state.range(2) == 0) return;
      headers.fill(decision);
      out.clear();
      headers.append_to(out);
    });
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["allocations"] = benchmark::Counter(
      static_cast<double>(allocations.load() - before), benchmark::Counter::kAvgIterations);
}

BENCHMARK(decide)
    ->ArgNames({"limits", "overrides", "headers"})
    ->Args({10, 0, 0})
    ->Args({10, 0, 1})
    ->Args({10'000, 100'000, 0})
    ->Args({10'000, 100'000, 1});

}  // namespace
}  // namespace weir::engine

BENCHMARK_MAIN();
