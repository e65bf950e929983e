#include "store/redis/memory_warning.h"

#include <gtest/gtest.h>

namespace weir::store::redis {
namespace {

TEST(MemoryWarning, TellsWhatEachPolicyMeansForLimits) {
  const std::string lru = memory_warning(
      "# Memory\r\nused_memory:1\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\n");
  EXPECT_NE(lru.find("allkeys-lru"), std::string::npos);
  EXPECT_NE(lru.find("forgets counters"), std::string::npos);
  EXPECT_NE(memory_warning("maxmemory:100\r\nmaxmemory_policy:noeviction\r\n").find("on_error"),
            std::string::npos);
}

TEST(MemoryWarning, SaysNothingWhereMemoryIsNotBoundedOrNotTold) {
  EXPECT_EQ(memory_warning("maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"), "");
  EXPECT_EQ(memory_warning("total_maxmemory:7\r\n"), "");
  EXPECT_EQ(memory_warning(""), "");
  EXPECT_EQ(memory_warning("NOPERM this user has no permissions"), "");
}

}  // namespace
}  // namespace weir::store::redis
