// The policy and the requests that the tests of the middleware share.

#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "weir/engine.h"

namespace weir {

// One call an hour from each address to /paid, and one for each token.
inline Engine make_engine() {
  auto engine = Engine::from_text(R"(
limits:
  - name: paid
    match: { path: /paid, method: GET }
    key: [ip]
    algorithm: token_bucket
    rate: 1/h
    burst: 1
  - name: token
    match: { header.x-token: "*" }
    key: [header.x-token]
    algorithm: token_bucket
    rate: 1/h
    burst: 1
)");
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return *std::move(engine);
}

}  // namespace weir
