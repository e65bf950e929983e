// HTTP dates as they are received (RFC 9110 section 5.6.7), in all three forms:
//
//   Sun, 06 Nov 1994 08:49:37 GMT     what is sent today
//   Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
//   Sun Nov  6 08:49:37 1994          asctime(), obsolete
//
// The name of the weekday is not compared with the date. What we send: http1/date.h.
//
// THREADS: a pure function.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

// As Unix seconds; nothing for anything else. A year of two digits is of the century that has it at
// most 50 years after `now`, in Unix seconds too.
std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now);

}  // namespace weir
