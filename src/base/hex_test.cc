#include "base/hex.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(HexByte, ReadsTwoDigitsOfEitherCase) {
  EXPECT_EQ(hex_byte("%7fF0", 1), 0x7f);
  EXPECT_EQ(hex_byte("%7fF0", 3), 0xf0);
  EXPECT_EQ(hex_byte("00", 0), 0);
}

TEST(HexByte, IsNoneWhereThereAreNotTwoDigits) {
  EXPECT_EQ(hex_byte("%7", 1), -1);
  EXPECT_EQ(hex_byte("%", 1), -1);
  EXPECT_EQ(hex_byte("", 1), -1);
  EXPECT_EQ(hex_byte("7g", 0), -1);
  EXPECT_EQ(hex_byte("g7", 0), -1);
}

}  // namespace
}  // namespace weir
