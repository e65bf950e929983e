#include "wire/resp/parse.h"

#include <charconv>

namespace weir::resp {

std::optional<std::uint64_t> parse_length(std::string_view digits, std::uint64_t max) {
  if (digits.empty() || digits.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > max) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view line) {
  std::int64_t value = 0;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace weir::resp
