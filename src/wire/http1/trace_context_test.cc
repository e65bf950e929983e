#include "wire/http1/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::http1 {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

TEST(TraceContext, TheTraceIdIsReadOfEveryVersion) {
  EXPECT_EQ(trace_id_of("00-" + kTrace + "-00f067aa0ba902b7-01"), kTrace);
  EXPECT_EQ(trace_id_of("cc-" + kTrace + "-00f067aa0ba902b7-01-what-is-next"), kTrace);
}

TEST(TraceContext, WhatIsNoTraceparentHasNone) {
  const std::string zeros(32, '0');
  for (const std::string& bad :
       {std::string(), std::string("00-") + kTrace, "00-" + kTrace + "-00f067aa0ba902b7-01-more",
        "ff-" + kTrace + "-00f067aa0ba902b7-01", "00-" + zeros + "-00f067aa0ba902b7-01",
        "00-" + kTrace + "-0000000000000000-01", "00_" + kTrace + "-00f067aa0ba902b7-01",
        "0g-" + kTrace + "-00f067aa0ba902b7-01", "00-" + kTrace + "-00f067aa0ba902b7-0x",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
        "cc-" + kTrace + "-00f067aa0ba902b7-01x"}) {
    EXPECT_FALSE(trace_id_of(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir::http1
