#include "base/fixed_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace weir {
namespace {

TEST(FixedText, PutsPiecesAndNumbersOneBehindTheOther) {
  FixedText<64> text;
  text += "a: ";
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10},
                                    std::numeric_limits<std::uint64_t>::max()}) {
    text.add_number(value);
    text += ' ';
  }
  text += "";
  EXPECT_EQ(text.view(), "a: 0 9 10 18446744073709551615 ");
}

TEST(FixedText, HoldsExactlyItsRoom) {
  FixedText<6> text;
  text += "abc";
  text.add_number(12);
  text += '!';
  EXPECT_EQ(text.view(), "abc12!");
}

TEST(FixedTextDeath, StopsWhereItWouldWriteBehindItsRoom) {
  FixedText<4> text;
  text += "abc";
  EXPECT_DEATH(text += "de", "bound of its kind");
  EXPECT_DEATH(text.add_number(10), "bound of its kind");
  text += 'd';
  EXPECT_DEATH(text += 'e', "bound of its kind");
  EXPECT_DEATH(text.add_number(1), "bound of its kind");
}

}  // namespace
}  // namespace weir
