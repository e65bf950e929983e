// What is legal in a policy for the gateway and yet doubtful: preflights that are counted where
// pages of other origins may read refusals, and requests that are held for longer than clients
// wait.
//
// THREADS: pure functions.

#pragma once

#include <optional>

#include "policy/policy.h"
#include "weir/time.h"

namespace weir::policy {

bool counts_messages(const Limit& limit);

// The first limit that may refuse a preflight of a browser; null where `exempt` takes them out.
const Limit* find_counted_preflight(const Policy& policy);

// How long a leaky bucket may hold a request: queue / rate, cut to what a Duration holds. Nothing
// where the limit holds none.
std::optional<Duration> longest_hold(const Limit& limit);

}  // namespace weir::policy
