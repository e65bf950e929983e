// The Date field of answers that we give ourselves (RFC 9110 section 6.6.1).
//
//   Date: Sun, 06 Nov 1994 08:49:37 GMT
//
// THREADS: any; each keeps the line of its last second.

#pragma once

#include <cstdint>
#include <string>

namespace weir::http1 {

// Appends the whole line. REQUIRES: 0 <= unix_seconds < 253402300800 (the year 10000).
void append_date_header(std::string& out, std::int64_t unix_seconds);

}  // namespace weir::http1
