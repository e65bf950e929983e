#include "scenario/units.h"

#include <array>
#include <charconv>
#include <ctime>
#include <string>
#include <utility>

namespace weir::scenario {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kDecimals = 9;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0.05" as 5 over 100. REQUIRES: digits with at most nine decimals.
struct Decimal {
  std::uint64_t value = 0;
  std::uint64_t scale = 1;
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  const std::size_t dot = text.find('.');
  std::string digits(text.substr(0, dot));
  Decimal decimal;
  if (dot != std::string_view::npos) {
    const std::string_view decimals = text.substr(dot + 1);
    if (decimals.empty() || decimals.size() > kDecimals) return std::nullopt;
    digits += decimals;
    for (std::size_t i = 0; i < decimals.size(); ++i) decimal.scale *= 10;
  }
  const auto value = parse_number<std::uint64_t>(digits);
  if (!value) return std::nullopt;
  decimal.value = *value;
  return decimal;
}

std::optional<std::int64_t> unit_ns(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kUnits = {{
      {"ns", 1},
      {"us", 1'000},
      {"ms", 1'000'000},
      {"s", kNsPerSecond},
      {"m", 60 * kNsPerSecond},
      {"min", 60 * kNsPerSecond},
      {"h", 3'600 * kNsPerSecond},
      {"d", 86'400 * kNsPerSecond},
      {"w", 604'800 * kNsPerSecond},
  }};
  for (const auto& [name, ns] : kUnits) {
    if (name == unit) return ns;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
  return parse_number<std::uint64_t>(text);
}

std::optional<Duration> parse_seconds(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto decimal = parse_decimal(text);
  if (!decimal) return std::nullopt;
  const std::int64_t ns =
      static_cast<std::int64_t>(decimal->value * (kNsPerSecond / decimal->scale));
  return Duration(negative ? -ns : ns);
}

std::optional<Duration> parse_duration(std::string_view text) {
  const std::size_t letters = text.find_first_of("abcdefghijklmnopqrstuvwxyz");
  if (letters == std::string_view::npos) return parse_seconds(text);
  const auto unit = unit_ns(text.substr(letters));
  const auto count = parse_number<std::int64_t>(letters == 0 ? "1" : text.substr(0, letters));
  if (!unit || !count) return std::nullopt;
  return Duration(*count * *unit);
}

std::optional<Rate> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto amount = parse_decimal(text.substr(0, slash));
  const auto period = parse_duration(text.substr(slash + 1));
  if (!amount || !period) return std::nullopt;
  return Rate{amount->value, Duration(period->count() * static_cast<std::int64_t>(amount->scale))};
}

std::optional<std::int64_t> parse_instant(std::string_view text) {
  if (const auto ns = parse_number<std::int64_t>(text)) return ns;
  std::tm at{};
  int read = 0;
  const std::string copy(text);
  const int fields = std::sscanf(copy.c_str(), "%d-%d-%dT%d:%d:%dZ%n", &at.tm_year, &at.tm_mon,
                                 &at.tm_mday, &at.tm_hour, &at.tm_min, &at.tm_sec, &read);
  if (fields != 6 || static_cast<std::size_t>(read) != copy.size()) return std::nullopt;
  at.tm_year -= 1900;
  at.tm_mon -= 1;
  return timegm(&at) * kNsPerSecond;
}

}  // namespace weir::scenario
