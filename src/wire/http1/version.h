// The eight bytes "HTTP/1.1" of a start line, checked as they arrive.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <string_view>

#include "wire/http1/parse.h"

namespace weir::http1 {

inline constexpr std::uint32_t kVersionBytes = 8;

enum class VersionFault : std::uint8_t { kNone, kMalformed, kUnsupported };

struct Version {
  Progress progress = Progress::kNeedMore;
  VersionFault fault = VersionFault::kNone;
  int minor = 0;
};

// Reads a version from the front of `text`. HTTP/1.0 and HTTP/1.1 are supported; other digits are
// another version of HTTP, other bytes are none.
Version read_version(std::string_view text);

}  // namespace weir::http1
