#include "engine/amount.h"

#include <algorithm>
#include <limits>

namespace weir::engine {
namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::optional<std::uint64_t> parse_amount(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  if (whole.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : whole) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (kHighest - digit) / 10 ? kHighest : value * 10 + digit;
  }
  if (dot != std::string_view::npos) {
    const std::string_view fraction = text.substr(dot + 1);
    if (fraction.empty() || !std::all_of(fraction.begin(), fraction.end(), is_digit)) {
      return std::nullopt;
    }
    const bool rounds = fraction.find_first_not_of('0') != std::string_view::npos;
    if (rounds && value != kHighest) ++value;
  }
  return value;
}

}  // namespace weir::engine
