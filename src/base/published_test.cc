#include "base/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weir {
namespace {

struct Pair {
  int one = 0;
  int two = 0;
};

TEST(Published, IsReadWholeWhileOthersTakeItsPlace) {
  Published<const Pair> published;
  published.store(std::make_shared<const Pair>());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    int last = 0;
    while (!done.load()) {
      const auto seen = published.load();
      EXPECT_EQ(seen->one, seen->two);
      EXPECT_GE(seen->one, last);
      last = seen->one;
    }
  });
  for (int i = 1; i <= 10'000; ++i) published.store(std::make_shared<const Pair>(Pair{i, i}));
  done.store(true);
  reader.join();
  EXPECT_EQ(published.load()->one, 10'000);
}

struct Looks {
  explicit Looks(Published<Looks>& place) : from(place) {}
  ~Looks() { from.load(); }
  Published<Looks>& from;
};

TEST(Published, WhatGoesMayStillRead) {
  Published<Looks> published;
  published.store(std::make_shared<Looks>(published));
  published.store(nullptr);
  EXPECT_EQ(published.load(), nullptr);
}

}  // namespace
}  // namespace weir
