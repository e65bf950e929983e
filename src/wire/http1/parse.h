// What every parser of this folder answers, and the bounds it keeps.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http1 {

enum class Progress : std::uint8_t {
  kNeedMore,  // right so far, and not at its end
  kComplete,
  kError,  // never to be fed again
};

// Why a message was refused. For a request, `status` is what to answer before closing; for a
// response it is 502, what the gateway answers its client.
struct ParseError {
  int status = 400;
  std::string_view message;  // static text, lower case
};

struct Limits {
  std::uint32_t max_headers = 100;
  std::uint32_t max_head_bytes = 64 * 1024;    // start line and headers; at most 16 MiB
  std::uint32_t max_target_bytes = 16 * 1024;  // longer is 414
};

}  // namespace weir::http1
