// Format: numbers of a limit, written as a policy writes them. What format_* prints, parse_* reads
// back as the same value.
//
// THREADS: pure functions.

#pragma once

#include <string>

#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::policy {

// "1h30m", "250ms", "0s". Below a microsecond: decimals ("0.5us").
std::string format_duration(Duration duration);

// In the smallest unit that gives a whole number: 0.2/s is "12/min", 1/3s is "20/min"; else
// "N per DURATION".
std::string format_rate(const Rate& rate);

// "token_bucket", as in `algorithm:`.
std::string_view algorithm_name(Algorithm algorithm);

// "minute" to "year", as in `window:`.
std::string_view calendar_word(CalendarUnit unit);

// "token_bucket rate 12/min burst 5": for explanations and logs.
std::string format_numbers(const Numbers& numbers);

}  // namespace weir::policy
