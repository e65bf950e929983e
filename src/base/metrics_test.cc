#include "base/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir::metrics {
namespace {

TEST(Metrics, SumsWhatAllThreadsCountedAlsoThoseThatEnded) {
  Registry registry;
  const Counter counter = registry.counter("weir_test_total", "A test.");
  counter.add(2);
  std::thread([&] { counter.add(40); }).join();
  EXPECT_EQ(counter.value(), 42u);
  EXPECT_EQ(registry.to_text(),
            "# HELP weir_test_total A test.\n# TYPE weir_test_total counter\nweir_test_total 42\n");
}

TEST(Metrics, GivesTheSameSeriesForTheSameNameAndLabels) {
  Registry registry;
  registry.counter("weir_a_total", "A.", {{"limit", "x"}}).add();
  registry.counter("weir_a_total", "A.", {{"limit", "x"}}).add();
  registry.counter("weir_a_total", "A.", {{"limit", "y"}}).add();
  EXPECT_NE(registry.to_text().find("weir_a_total{limit=\"x\"} 2\n"), std::string::npos);
  EXPECT_NE(registry.to_text().find("weir_a_total{limit=\"y\"} 1\n"), std::string::npos);
}

TEST(Metrics, DoesNotWriteSeriesThatNeverMoved) {
  Registry registry;
  registry.counter("weir_still_total", "Still.");
  registry.histogram("weir_still_seconds", "Still.", {1.0});
  EXPECT_EQ(registry.to_text(), "");
}

TEST(Metrics, KeepsRowsOfAllThreadsApart) {
  const Row first = Row::take(3);
  const Row second = Row::take(3);
  const auto count = [&] {
    for (std::uint32_t i = 0; i < 3; ++i) detail::add_to(first.here()[i], i + 1);
    detail::add_to(second.here()[0], 10);
  };
  count();
  std::thread(count).join();
  const Snapshot snapshot;
  EXPECT_EQ(snapshot[first.first()], 2u);
  EXPECT_EQ(snapshot[first.first() + 2], 6u);
  EXPECT_EQ(snapshot[second.first()], 20u);
  EXPECT_EQ(snapshot[second.first() + 1], 0u);
}

TEST(Metrics, PutsARowIntoOneBlock) {
  for (int i = 0; i < 100; ++i) {
    const Row row = Row::take(detail::kLargestRow - 1);
    EXPECT_EQ(row.first() / detail::kSlotsPerBlock,
              (row.first() + detail::kLargestRow - 2) / detail::kSlotsPerBlock);
  }
}

TEST(Metrics, WritesFamiliesThatSomebodyElseKnows) {
  Registry registry;
  registry.family_from("weir_k_total", "K.", Type::kCounter, [](const Snapshot&, TextWriter& out) {
    out.counter({{"key", "a"}}, 2);
    out.counter({{"key", "still"}}, 0);
  });
  EXPECT_EQ(registry.to_text(),
            "# HELP weir_k_total K.\n# TYPE weir_k_total counter\nweir_k_total{key=\"a\"} 2\n");
}

TEST(Metrics, WritesOpenMetricsToWhoAsksForIt) {
  Registry registry;
  registry.counter("weir_a_total", "A.").add();
  registry.histogram("weir_b_seconds", "B.", {1.0}).observe(std::chrono::milliseconds(500));
  EXPECT_EQ(format_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            Format::kOpenMetrics);
  EXPECT_EQ(format_for("text/plain;version=0.0.4"), Format::kPrometheus);
  EXPECT_EQ(registry.to_text(Format::kOpenMetrics),
            "# HELP weir_a A.\n# TYPE weir_a counter\nweir_a_total 1\n"
            "# HELP weir_b_seconds B.\n# TYPE weir_b_seconds histogram\n"
            "weir_b_seconds_bucket{le=\"1.0\"} 1\nweir_b_seconds_bucket{le=\"+Inf\"} 1\n"
            "weir_b_seconds_sum 0.5\nweir_b_seconds_count 1\n# EOF\n");
}

TEST(Metrics, ReadsQuantilesOffAHistogram) {
  const std::vector<double> bounds{1, 2, 4};
  const HistogramCounts counts{{50, 50, 0, 0}, 100, 0};
  EXPECT_DOUBLE_EQ(counts.quantile(0.5, bounds), 1.0);
  EXPECT_DOUBLE_EQ(counts.quantile(0.75, bounds), 1.5);
  const HistogramCounts above{{0, 0, 0, 3}, 3, 0};
  EXPECT_DOUBLE_EQ(above.quantile(0.5, bounds), 4.0);
  EXPECT_DOUBLE_EQ(HistogramCounts().quantile(0.5, bounds), 0.0);
}

// One bad label made the whole page unreadable.
TEST(Metrics, EscapesLabelValuesAndShowsBytesThatAreNotUtf8) {
  Registry registry;
  registry.counter("weir_b_total", "B.", {{"limit", "a\"b\\c\nd\xff\xc3\xa9"}}).add();
  EXPECT_NE(registry.to_text().find("{limit=\"a\\\"b\\\\c\\nd\\\\xff\xc3\xa9\"} 1\n"),
            std::string::npos)
      << registry.to_text();
}

TEST(Metrics, CutsLongLabelValuesAndKeepsThemApart) {
  Registry registry;
  registry.counter("weir_c_total", "C.", {{"limit", std::string(5000, 'x')}}).add();
  const std::string one = registry.to_text();
  EXPECT_LT(one.size(), 400u);
  Registry other;
  other.counter("weir_c_total", "C.", {{"limit", std::string(5001, 'x')}}).add();
  EXPECT_NE(other.to_text(), one);
}

TEST(Metrics, WritesHistogramsCumulativelyWithSumAndCount) {
  Registry registry;
  const Histogram waits = registry.histogram("weir_wait_seconds", "Waits.", {0.5, 1.0});
  waits.observe(std::chrono::milliseconds(500));  // a bound belongs to its bucket
  waits.observe(std::chrono::milliseconds(501));
  waits.observe(std::chrono::seconds(2));
  EXPECT_EQ(registry.to_text(),
            "# HELP weir_wait_seconds Waits.\n# TYPE weir_wait_seconds histogram\n"
            "weir_wait_seconds_bucket{le=\"0.5\"} 1\n"
            "weir_wait_seconds_bucket{le=\"1\"} 2\n"
            "weir_wait_seconds_bucket{le=\"+Inf\"} 3\n"
            "weir_wait_seconds_sum 3.001\n"
            "weir_wait_seconds_count 3\n");
}

}  // namespace
}  // namespace weir::metrics
