// The units that durations and rates are written in, for who reads them (scalar.cc) and who prints
// them (format.cc).
//
// THREADS: constants.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/seconds.h"

namespace weir::policy {

struct Unit {
  std::string_view name;
  std::uint64_t size;  // in ns, or in bytes
};

inline constexpr std::uint64_t kMicrosecond = kNsPerUs;
inline constexpr std::uint64_t kSecond = kNsPerSecond;
inline constexpr std::uint64_t kDay = 86'400 * kSecond;

// From long to short: the order in which a compound writes them.
inline constexpr std::array<Unit, 7> kDurationUnits{{{"w", 7 * kDay},
                                                     {"d", kDay},
                                                     {"h", 3'600 * kSecond},
                                                     {"m", 60 * kSecond},
                                                     {"s", kSecond},
                                                     {"ms", 1'000 * kMicrosecond},
                                                     {"us", kMicrosecond}}};

inline constexpr std::array<Unit, 6> kRateUnits{{{"s", kSecond},
                                                 {"min", 60 * kSecond},
                                                 {"h", 3'600 * kSecond},
                                                 {"day", kDay},
                                                 {"week", 7 * kDay},
                                                 {"month", 30 * kDay}}};

}  // namespace weir::policy
