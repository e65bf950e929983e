#include "engine/metrics.h"

#include <gtest/gtest.h>

namespace weir::engine {
namespace {

Verdict denied(Duration wait) {
  Verdict verdict;
  verdict.outcome = Outcome::kDenied;
  verdict.retry_after = wait;
  return verdict;
}

TEST(LimitCounters, CountsEachLimitMetByOutcomeAndSource) {
  metrics::Registry registry;
  LimitCounters counters(registry, "login");
  counters.count(Verdict{}, Source::kMemory, /*shadow=*/false, /*admitted=*/true);
  counters.count(Verdict{}, Source::kMemory, /*shadow=*/false, /*admitted=*/false);
  counters.count(denied(std::chrono::seconds(5)), Source::kMemory, false, false);
  counters.count(denied(std::chrono::seconds(5)), Source::kRedis, /*shadow=*/true, true);
  const std::string text = registry.to_text();
  for (const char* line : {
           "weir_decisions_total{limit=\"login\",outcome=\"allowed\",source=\"memory\"} 1\n",
           "weir_decisions_total{limit=\"login\",outcome=\"passed\",source=\"memory\"} 1\n",
           "weir_decisions_total{limit=\"login\",outcome=\"denied\",source=\"memory\"} 1\n",
           "weir_decisions_total{limit=\"login\",outcome=\"shadow_denied\",source=\"redis\"} 1\n",
           "weir_retry_after_seconds_count{limit=\"login\"} 1\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

TEST(LimitCounters, TakesNoWaitFromARefusalThatHasNone) {
  metrics::Registry registry;
  LimitCounters counters(registry, "login");
  Verdict never;
  never.outcome = Outcome::kNever;
  counters.count(never, Source::kMemory, false, false);
  EXPECT_EQ(registry.to_text().find("weir_retry_after_seconds"), std::string::npos);
}

}  // namespace
}  // namespace weir::engine
