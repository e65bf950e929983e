#include "base/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/hex.h"
#include "base/siphash.h"
#include "base/utf8.h"

namespace weir::metrics {
namespace {

constexpr std::size_t kMaxValueBytes = 256;

void append_number(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

void append_number(std::string& out, std::uint64_t value) {
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, result.ptr);
}

// OpenMetrics wants bounds as floats: 1.0, not 1.
void append_bound(std::string& out, double value, Format format) {
  const std::size_t before = out.size();
  append_number(out, value);
  const bool whole = out.find_first_of(".eIN", before) == std::string::npos;
  if (format == Format::kOpenMetrics && whole) out += ".0";
}

void append_hash(std::string& out, std::string_view value) {
  SipHash hasher(SipKey{});
  hasher.add(value);
  out += "...";
  append_hex(out, hasher.finish().high);
}

void append_label_value(std::string& out, std::string_view value) {
  std::size_t i = 0;
  while (i < value.size() && i < kMaxValueBytes) {
    const std::size_t length = utf8_length(value.substr(i));
    const char c = value[i];
    if (length == 0) {
      out += "\\\\x";
      append_hex_byte(out, c);
    } else if (c == '\\') {
      out += "\\\\";
    } else if (c == '"') {
      out += "\\\"";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out.append(value, i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  if (i < value.size()) append_hash(out, value);
}

// name="value",name="value"
std::string label_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out += name;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
  }
  return out;
}

void append_braced(std::string& out, std::string_view labels) {
  if (labels.empty()) return;
  out += '{';
  out += labels;
  out += '}';
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace

std::string_view content_type(Format format) {
  if (format == Format::kOpenMetrics) {
    return "application/openmetrics-text; version=1.0.0; charset=utf-8";
  }
  return "text/plain; version=0.0.4; charset=utf-8";
}

Format format_for(std::string_view accept) {
  const bool asked = accept.find("application/openmetrics-text") != std::string_view::npos;
  return asked ? Format::kOpenMetrics : Format::kPrometheus;
}

void HistogramCounts::add(const HistogramCounts& more) {
  if (counts.size() < more.counts.size()) counts.resize(more.counts.size());
  for (std::size_t i = 0; i < more.counts.size(); ++i) counts[i] += more.counts[i];
  total += more.total;
  sum += more.sum;
}

double HistogramCounts::quantile(double share, const std::vector<double>& bounds) const {
  const double wanted = share * static_cast<double>(total);
  double below = 0;
  for (std::size_t i = 0; total > 0 && i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (below + here >= wanted && here > 0) {
      const double from = i == 0 ? 0 : bounds[i - 1];
      return from + (bounds[i] - from) * (wanted - below) / here;
    }
    below += here;
  }
  return total == 0 ? 0 : bounds.back();
}

void TextWriter::begin_family(std::string_view name, std::string_view help, Type type) {
  name_ = name;
  help_ = help;
  type_ = type;
  head_written_ = false;
}

void TextWriter::begin_sample(std::string_view suffix) {
  if (!head_written_) {
    head_written_ = true;
    std::string_view family = name_;
    // There a counter's family is named without the ending that its sample has.
    if (format_ == Format::kOpenMetrics && type_ == Type::kCounter && family.ends_with("_total")) {
      family.remove_suffix(6);
    }
    out_.append("# HELP ").append(family).append(" ").append(help_);
    out_.append("\n# TYPE ").append(family).append(" ").append(type_name(type_)).append("\n");
  }
  out_ += name_;
  out_ += suffix;
}

void TextWriter::counter(const Labels& labels, std::uint64_t value) {
  if (value == 0) return;
  begin_sample("");
  append_braced(out_, label_text(labels));
  out_ += ' ';
  append_number(out_, value);
  out_ += '\n';
}

void TextWriter::gauge(const Labels& labels, double value) {
  begin_sample("");
  append_braced(out_, label_text(labels));
  out_ += ' ';
  append_number(out_, value);
  out_ += '\n';
}

void TextWriter::histogram(const Labels& labels, const std::vector<double>& bounds,
                           const HistogramCounts& counts) {
  if (counts.total == 0) return;
  const std::string text = label_text(labels);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    below += counts.counts[i];
    begin_sample("_bucket");
    out_ += '{';
    out_ += text;
    if (!text.empty()) out_ += ',';
    out_ += "le=\"";
    append_bound(out_, i < bounds.size() ? bounds[i] : INFINITY, format_);
    out_ += "\"} ";
    append_number(out_, below);
    out_ += '\n';
  }
  begin_sample("_sum");
  append_braced(out_, text);
  out_ += ' ';
  append_number(out_, counts.sum);
  out_ += '\n';
  begin_sample("_count");
  append_braced(out_, text);
  out_ += ' ';
  append_number(out_, counts.total);
  out_ += '\n';
}

std::string TextWriter::finish() {
  if (format_ == Format::kOpenMetrics) out_ += "# EOF\n";
  return std::move(out_);
}

}  // namespace weir::metrics
