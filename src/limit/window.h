// What all windows of a fixed length share: their bounds, and where one starts.
//
// THREADS: plain functions.

#pragma once

#include <cstdint>
#include <optional>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::limit {

// Why a window of this length cannot be held, or nothing. A key is fresh again after `windows` of
// them, which must stay within 100 years.
std::optional<Error> check_window(Duration window, std::int64_t windows);

// The start of the window since the epoch that holds `now`. REQUIRES: window > 0, and `now` within
// reach (state.h).
constexpr std::int64_t epoch_start(std::int64_t now, std::int64_t window) {
  const std::int64_t into = now % window;
  return now - (into < 0 ? into + window : into);
}

}  // namespace weir::limit
