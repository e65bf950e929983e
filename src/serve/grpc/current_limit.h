// How a limit's numbers look in Envoy's protocol: so many requests per unit.
//
// A window that is exactly one unit long is shown as written; a rate in the smallest unit in which
// it is a whole number (0.2/s is 12 a minute). Where there is none, in years, rounded down. More
// than 32 bits hold counts as 4294967295.
//
// THREADS: pure functions.

#pragma once

#include <string_view>

#include "weir/numbers.h"
#include "wire/grpc/rate_limit.h"

namespace weir::grpc {

rls::CurrentLimit current_limit(const Numbers& numbers, std::string_view name);

// How long a unit is: a month has 30 days, a year 365. Zero for none.
Duration length_of(rls::Unit unit);

}  // namespace weir::grpc
