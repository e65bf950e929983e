// Takeover: what becomes of a counter that was written under other numbers, where it is not to stay
// as it is (Rule::adopt()).
//
// THREADS: plain values; `about` is called under a shard's lock, from any thread.

#pragma once

#include <cstdint>
#include <functional>

#include "base/wide.h"
#include "limit/rule.h"
#include "weir/decision.h"
#include "weir/limiter.h"

namespace weir::store {

struct Takeover {
  Inherit inherit = Inherit::kAsIs;
  // Whether it goes for what was written under these numbers; what was written under others stays
  // as it is.
  std::function<bool(const limit::Rule& older)> about;
};

// What is to be left of `quota`, in whole tokens, where `before` was left of another.
inline std::uint64_t inherited_left(const Verdict& before, std::uint64_t quota, Inherit inherit) {
  if (inherit == Inherit::kProportional && before.quota > 0) {
    return static_cast<std::uint64_t>(
        floor_div(wide_product(before.remaining, quota), before.quota));
  }
  const bool grows = inherit == Inherit::kAdditive && quota > before.quota;
  const std::uint64_t left = grows ? before.remaining + (quota - before.quota) : before.remaining;
  return left < quota ? left : quota;
}

}  // namespace weir::store
