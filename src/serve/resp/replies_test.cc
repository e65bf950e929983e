#include "serve/resp/replies.h"

#include <gtest/gtest.h>

namespace weir::resp {
namespace {

TEST(Replies, WhatIsKnownAtOnceIsReady) {
  Replies replies;
  replies.now() += "a";
  EXPECT_EQ(replies.ready(), "a");
}

TEST(Replies, LaterAnswersKeepTheOrderOfTheirQuestions) {
  Replies replies;
  replies.now() += "a";
  const auto b = replies.reserve();
  replies.now() += "c";
  EXPECT_EQ(replies.next(), b + 1);
  const auto d = replies.reserve();
  replies.now() += "e";
  EXPECT_EQ(replies.waiting(), 2u);
  replies.at(d) += "d";
  replies.fill(d);
  EXPECT_EQ(replies.ready(), "a");
  replies.at(b) += "b";
  replies.fill(b);
  EXPECT_EQ(replies.ready(), "abcde");
  EXPECT_EQ(replies.waiting(), 0u);
}

}  // namespace
}  // namespace weir::resp
