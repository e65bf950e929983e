// TextWriter: metrics as the text that Prometheus reads, in its own format (version 0.0.4) or as
// OpenMetrics (version 1.0.0).
//
// Label values are escaped as the formats ask; what is not UTF-8 is shown as \xHH, what is longer
// than 256 bytes is cut, and a hash of the whole value put behind it, so that two values stay two.
//
// THREADS: one.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class Format : std::uint8_t { kPrometheus, kOpenMetrics };
enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };

std::string_view content_type(Format format);
// What a scraper that sends this Accept field is given.
Format format_for(std::string_view accept);

struct HistogramCounts {
  std::vector<std::uint64_t> counts;  // one a bound, one for above all of them; not cumulative
  std::uint64_t total = 0;
  double sum = 0;

  void add(const HistogramCounts& more);

  // The value below which `share` of the samples lie, interpolated within its bucket; the highest
  // bound where it lies above that. 0 without samples.
  double quantile(double share, const std::vector<double>& bounds) const;
};

class TextWriter {
 public:
  explicit TextWriter(Format format) : format_(format) {}

  // The samples that follow are of this family; its head is written with the first of them.
  void begin_family(std::string_view name, std::string_view help, Type type);

  // A counter of 0 never moved and is not written; nor is a histogram without samples.
  void counter(const Labels& labels, std::uint64_t value);
  void gauge(const Labels& labels, double value);
  void histogram(const Labels& labels, const std::vector<double>& bounds,
                 const HistogramCounts& counts);

  std::string finish();

 private:
  void begin_sample(std::string_view suffix);

  const Format format_;
  std::string name_;
  std::string help_;
  Type type_ = Type::kGauge;
  bool head_written_ = false;
  std::string out_;
};

}  // namespace weir::metrics
