#include "engine/metrics.h"

#include <gtest/gtest.h>

#include <limits>

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
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
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
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  Verdict never;
  never.outcome = Outcome::kNever;
  counters.count(never, Source::kMemory, false, false);
  EXPECT_EQ(registry.to_text().find("weir_retry_after_seconds"), std::string::npos);
}

TEST(LimitCounters, SaysHowFullTheBucketsWereByOneDecisionInEight) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  Verdict verdict;
  verdict.quota = 10;
  verdict.remaining = 3;
  counters.count(verdict, Source::kMemory, false, true);
  EXPECT_EQ(counters.fullness(metrics::Snapshot()).total, 1U) << "the first is told";

  // A rhythm of four values, as the sampling must not follow it.
  constexpr std::uint64_t kLeft[] = {0, 1, 3, 10};
  for (int turn = 0; turn < 32'000; ++turn) {
    verdict.remaining = kLeft[turn % 4];
    counters.count(verdict, Source::kMemory, false, true);
  }
  const metrics::HistogramCounts counts = counters.fullness(metrics::Snapshot());
  EXPECT_NEAR(static_cast<double>(counts.total), 4000, 20);
  EXPECT_NEAR(counts.sum / static_cast<double>(counts.total), 0.35, 0.01);

  Verdict unlimited;
  unlimited.quota = unlimited.remaining = std::numeric_limits<std::uint64_t>::max();
  const LimitCounters& others = *metrics->of("others");
  others.count(unlimited, Source::kMemory, false, true);
  others.count(Verdict{}, Source::kFailOpen, false, true);
  EXPECT_EQ(others.fullness(metrics::Snapshot()).total, 0U);
}

TEST(LimitCounters, PutsAWaitUnderTheFirstBoundThatHoldsIt) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  const LimitCounters& counters = *metrics->of("login");
  counters.count(denied(std::chrono::seconds(1)), Source::kMemory, false, false);
  counters.count(denied(std::chrono::hours(48)), Source::kMemory, false, false);
  const metrics::HistogramCounts waits = counters.waits(metrics::Snapshot());
  EXPECT_EQ(waits.counts[3], 1u);
  EXPECT_EQ(waits.counts.back(), 1u);
  EXPECT_DOUBLE_EQ(waits.sum, 1 + 48 * 3600.0);
}

TEST(Metrics, GoesOnCountingALimitThatComesBack) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  EXPECT_EQ(metrics->find("login"), nullptr);
  const LimitCounters* counters = metrics->of("login");
  EXPECT_EQ(metrics->of("login"), counters);
  EXPECT_EQ(metrics->find("login"), counters);
}

}  // namespace
}  // namespace weir::engine
