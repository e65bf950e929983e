// Which verdict a decision names.

#include "engine/naming.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::engine {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

Verdict left(std::uint64_t remaining, std::uint64_t quota) {
  Verdict verdict;
  verdict.remaining = remaining;
  verdict.quota = quota;
  return verdict;
}

Verdict denied(std::int64_t retry_ns) {
  Verdict verdict;
  verdict.outcome = Outcome::kDenied;
  verdict.retry_after = Duration(retry_ns);
  return verdict;
}

Verdict never() {
  Verdict verdict;
  verdict.outcome = Outcome::kNever;
  return verdict;
}

TEST(Naming, PrefersRefusalsThenTheLongestWaitThenTheSmallestShare) {
  const struct {
    Verdict later;
    Verdict earlier;
    bool named_over;
  } table[] = {
      {left(1, 10), left(2, 10), true},
      {left(2, 10), left(1, 10), false},
      {left(1, 10), left(10, 100), false},  // ties by file order
      {left(1, 3), left(1, 2), true},
      {left(0, 5), left(0, 3), false},
      {left(0, 0), left(1, 5), true},
      {left(0, 0), left(0, 5), false},
      {left(0, 5), left(0, 0), false},
      {left(1, 5), left(0, 0), false},
      {left(kMax - 1, kMax), left(kMax, kMax), true},
      {left(kMax - 2, kMax - 1), left(kMax - 1, kMax), true},
      {denied(1), left(0, 5), true},
      {left(0, 5), denied(1), false},
      {denied(2), denied(1), true},
      {denied(1), denied(1), false},
      {never(), denied(kMax >> 1), true},
      {denied(kMax >> 1), never(), false},
      {never(), never(), false},
  };
  for (std::size_t i = 0; i < std::size(table); ++i) {
    EXPECT_EQ(is_named_over(table[i].later, table[i].earlier), table[i].named_over) << "row " << i;
  }
}

}  // namespace
}  // namespace weir::engine
