// The number forms of scenarios: seconds with decimals, durations with a unit, rates.
//
// THREADS: plain functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::scenario {

std::optional<std::uint64_t> parse_count(std::string_view text);

// "6", "0.25", "-3600": up to nine decimals.
std::optional<Duration> parse_seconds(std::string_view text);

// The same, or a whole number and one of ns us ms s m h d w.
std::optional<Duration> parse_duration(std::string_view text);

// "10/60s", "5/s", "0.05/s", "1/3s", "3/h".
std::optional<Rate> parse_rate(std::string_view text);

// "2026-01-01T00:00:00Z", or nanoseconds since the epoch.
std::optional<std::int64_t> parse_instant(std::string_view text);

}  // namespace weir::scenario
