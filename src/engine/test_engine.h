// The engine over a memory store, for tests: installs policies, and decides at a time that the test
// moves. Tests only.

#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/test_request.h"
#include "store/memory/memory_store.h"

namespace weir::engine {

// 2023-11-14 22:13:20 UTC: the start of a minute's twentieth second.
inline constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

class OverMemory : public testing::Test {
 protected:
  void install(policy::Policy policy) {
    const auto installed = engine_.install(std::move(policy));
    ASSERT_TRUE(installed.has_value()) << installed.error().message;
  }
  void install(std::vector<policy::Limit> limits) { install(policy_of(std::move(limits))); }

  Decision decide(const TestRequest& request, std::optional<std::uint64_t> cost = std::nullopt) {
    Decision answer;
    engine_.decide(request, now_, cost, [&](Decision decision) { answer = std::move(decision); });
    return answer;
  }
  bool allowed(const TestRequest& request) { return decide(request).allowed; }
  // "AAD": each call's fate.
  std::string fates(const TestRequest& request, int calls) {
    std::string fates;
    for (int i = 0; i < calls; ++i) fates += allowed(request) ? 'A' : 'D';
    return fates;
  }
  static std::string named(const Decision& decision) {
    return decision.named_limit() ? std::string(decision.named_limit()->name) : "-";
  }

  store::MemoryStore store_;
  Engine engine_{store_};
  Instant now_ = at_ns(kStart);
};

}  // namespace weir::engine
