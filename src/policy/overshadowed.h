// Limits that never refuse anything, because another limit that meets the same requests and counts
// them by the same key is as strict.
//
// Finds what can be told from the numbers alone: the same algorithm, the same key and cost, and a
// match that is the same or missing. What it says is so; it does not find all there are.
//
// THREADS: pure functions.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "policy/policy.h"

namespace weir::policy {

// For each limit, in their order, the one that makes it useless. Takes time in proportion to their
// number.
std::vector<std::optional<std::size_t>> find_overshadowed(const std::vector<Limit>& limits);

}  // namespace weir::policy
