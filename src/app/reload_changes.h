// What a reloaded policy changes beside its numbers: counters that begin afresh, and listeners,
// which stay as they were opened.
//
// THREADS: pure functions.

#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace weir::app {

// Limits whose counters begin afresh, since what was counted means nothing under the new algorithm
// or window; in the order of the file. Tiers count as `limit tier name`.
std::vector<std::string> limits_that_start_afresh(const policy::Policy& now,
                                                  const policy::Policy& next);

// A section whose listener stands open stays in force until the next start, also where the new
// policy leaves it out: its requests are answered as before, and its token stays asked for.
// Logged as a warning.
void keep_open_listeners(const policy::Policy& now, policy::Policy& next);

// Whether the store that is open is the one that `next` wants.
bool same_store(const policy::Store& now, const policy::Store& next);

}  // namespace weir::app
