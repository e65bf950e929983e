#include "store/memory/once_book.h"

#include <gtest/gtest.h>

namespace weir::store {
namespace {

using Use = OnceBook::Use;

Hash128 serial(std::uint64_t number) {
  return {number, ~number};
}

TEST(OnceBook, LetsASerialThroughOnceUntilItEnds) {
  OnceBook book(10);
  EXPECT_EQ(book.use(serial(1), 100, 0), Use::kFirst);
  EXPECT_EQ(book.use(serial(1), 100, 99), Use::kAgain);
  EXPECT_EQ(book.use(serial(1), 100, 100), Use::kTooLate);
  EXPECT_EQ(book.size(), 0u);
}

TEST(OnceBook, AClockThatStepsBackBringsNothingBack) {
  OnceBook book(10);
  EXPECT_EQ(book.use(serial(1), 100, 0), Use::kFirst);
  EXPECT_EQ(book.use(serial(2), 200, 150), Use::kFirst);
  EXPECT_EQ(book.use(serial(1), 100, 50), Use::kTooLate);
}

TEST(OnceBook, WhatItForgetsForWantOfRoomStaysUsed) {
  OnceBook book(3);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(book.use(serial(i), static_cast<std::int64_t>(10 * i), 0), Use::kFirst);
  }
  EXPECT_EQ(book.use(serial(4), 40, 0), Use::kFirst);
  EXPECT_EQ(book.size(), 3u);
  EXPECT_EQ(book.use(serial(1), 10, 0), Use::kTooLate);
  EXPECT_EQ(book.use(serial(2), 20, 0), Use::kAgain);
  // One that ends before all that are remembered has no room either.
  EXPECT_EQ(book.use(serial(5), 15, 0), Use::kTooLate);
}

}  // namespace
}  // namespace weir::store
