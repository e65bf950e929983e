// Coverage: whether whatever meets one match meets another, by their text alone. What it says is
// so; where it cannot tell it says no, as for two regular expressions.
//
// THREADS: pure functions.

#pragma once

#include "policy/policy.h"

namespace weir::policy {

// REQUIRES: both come from prepare() (path.h), with the same options.
bool covers(const Match& wide, const Match& narrow);

}  // namespace weir::policy
