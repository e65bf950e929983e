// Cookies of a request (RFC 6265 section 4.2): name=value pairs in any number of Cookie fields.
//
// Names are case-sensitive and values are taken as sent, quotes and all. A pair without '=' is
// nobody's and is passed over. THREADS: pure functions.

#pragma once

#include <optional>
#include <string_view>

#include "wire/http1/headers.h"

namespace weir::http1 {

struct Pair {
  std::string_view name;
  std::string_view value;
};

// Takes the next pair off the front of a Cookie field's value; nothing at its end.
std::optional<Pair> next_cookie(std::string_view& field);

// How often the cookie stands in all Cookie fields, and its first value.
Found find_cookie(const Headers& headers, std::string_view name);

}  // namespace weir::http1
