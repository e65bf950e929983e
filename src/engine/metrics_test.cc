#include "engine/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

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

TEST(LimitCounters, FindsThePlaceOfEveryWaitAsASearchWould) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  std::vector<std::int64_t> waits = {-1, 0, 1, std::numeric_limits<std::int64_t>::max()};
  for (int bits = 1; bits < 63; ++bits) waits.push_back(std::int64_t{1} << bits);
  for (const double bound : kWaitBounds) {
    const auto ns = static_cast<std::int64_t>(bound * 1e9);
    for (const std::int64_t off : {-1, 0, 1}) waits.push_back(ns + off);
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const LimitCounters& counters = *metrics->of("limit_" + std::to_string(i));
    counters.count(denied(Duration(waits[i])), Source::kMemory, false, false);
    const double seconds = static_cast<double>(waits[i]) / 1e9;
    const auto place =
        std::lower_bound(kWaitBounds.begin(), kWaitBounds.end(), seconds) - kWaitBounds.begin();
    EXPECT_EQ(counters.waits(metrics::Snapshot()).counts[static_cast<std::size_t>(place)], 1u)
        << waits[i] << " ns";
  }
}

// How often the calling thread has had to wait for something.
std::int64_t waits_of_this_thread() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

TEST(Metrics, CountingNeverWaitsForAScrape) {
  metrics::Registry registry;
  const auto metrics = Metrics::make(registry);
  std::vector<const LimitCounters*> active;
  for (int i = 0; i < 10'000; ++i) {
    const LimitCounters* counters = metrics->of("limit_" + std::to_string(i));
    if (i % 10 == 0) active.push_back(counters);
  }
  std::atomic<int> scrapes{0};
  std::atomic<bool> enough{false};
  std::size_t longest = 0;
  std::thread scraper([&] {
    while (!enough) {
      longest = std::max(longest, registry.to_text().size());
      ++scrapes;
    }
  });
  // A thread's first touch of its slots takes a lock, once.
  for (const LimitCounters* counters : active) {
    counters->count(denied(std::chrono::seconds(5)), Source::kMemory, false, false);
  }
  const std::int64_t waited = waits_of_this_thread();
  std::uint64_t rounds = 1;
  for (const int until = scrapes + 20; scrapes < until; ++rounds) {
    for (const LimitCounters* counters : active) {
      counters->count(denied(std::chrono::seconds(5)), Source::kMemory, false, false);
    }
  }
  EXPECT_EQ(waits_of_this_thread() - waited, 0) << "waits, in " << rounds << " rounds";
  enough = true;
  scraper.join();
  EXPECT_GT(longest, 1000u * 100) << "they had something to write";
  const auto counted =
      active[0]->decisions(metrics::Snapshot(), LimitOutcome::kDenied, Source::kMemory);
  EXPECT_EQ(counted, rounds) << "and lose nothing";
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
