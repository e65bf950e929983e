#include "base/counted.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Counted, OnlyOneIsOne) {
  EXPECT_EQ(counted(0, "limit"), "0 limits");
  EXPECT_EQ(counted(1, "limit"), "1 limit");
  EXPECT_EQ(counted(2, "limit"), "2 limits");
}

}  // namespace
}  // namespace weir
