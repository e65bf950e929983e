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

// One bad label made the whole page unreadable.
TEST(Metrics, EscapesLabelValuesAndShowsBytesThatAreNotUtf8) {
  Registry registry;
  registry.counter("weir_b_total", "B.", {{"limit", "a\"b\\c\nd\xff\xc3\xa9"}}).add();
  EXPECT_NE(registry.to_text().find("{limit=\"a\\\"b\\\\c\\nd\\\\xff\xc3\xa9\"} 1\n"),
            std::string::npos)
      << registry.to_text();
}

TEST(Metrics, CutsLongLabelValues) {
  Registry registry;
  registry.counter("weir_c_total", "C.", {{"limit", std::string(5000, 'x')}}).add();
  EXPECT_LT(registry.to_text().size(), 400u);
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
