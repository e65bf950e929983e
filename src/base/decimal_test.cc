#include "base/decimal.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir {
namespace {

std::string written(std::uint64_t value) {
  char digits[kMaxDecimalDigits];
  return std::string(digits, write_decimal(digits, value));
}

// Every number of digits, at both ends and next to them.
std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> values = {0, std::numeric_limits<std::uint64_t>::max(),
                                       std::numeric_limits<std::uint64_t>::max() - 1};
  std::uint64_t power = 1;
  for (int digits = 1; digits <= 20; ++digits, power *= 10) {
    for (const std::uint64_t value : {power - 1, power, power + 1, 2 * power, power + power / 3}) {
      values.push_back(value);
    }
  }
  for (int bit = 0; bit < 64; ++bit) values.push_back(std::uint64_t{1} << bit);
  return values;
}

TEST(Decimal, WritesWhatTheStandardLibraryWrites) {
  for (const std::uint64_t value : edges()) {
    EXPECT_EQ(written(value), std::to_string(value));
    EXPECT_EQ(decimal_digits(value), std::to_string(value).size());
  }
  for (std::uint64_t value = 0; value < 100'000; ++value) {
    ASSERT_EQ(written(value), std::to_string(value));
  }
}

}  // namespace
}  // namespace weir
