// One limit as the RateLimit and RateLimit-Policy fields show it: an item of a Structured Fields
// List (RFC 9651), the limit's name as a String, its numbers as Integers.
//
//   RateLimit-Policy: "login";q=5;w=50         what the limit allows
//   RateLimit:        "login";r=0;t=10         what is left, and when there will be more
//
// Names are [A-Za-z0-9_.-], so no String needs an escape. Integers end at 15 digits; what is larger
// says 999999999999999.
//
// THREADS: pure functions.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fixed_text.h"
#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::engine {

// Appends the policy item. `quota` as the limit's rule says it.
void append_policy_item(std::string& out, std::string_view name, const Numbers& numbers,
                        std::uint64_t quota);

// The largest Integer of RFC 9651.
inline constexpr std::uint64_t kMaxItemInteger = 999'999'999'999'999;

// An item: a name of at most 64 bytes, and its parameters.
using ItemText = FixedText<192>;

// Appends `;key=value`, the value cut to what a field can say.
template <typename Text>
void append_integer_parameter(Text& out, std::string_view key, std::uint64_t value) {
  out += ';';
  out += key;
  out += '=';
  out.add_number(std::min(value, kMaxItemInteger));
}

}  // namespace weir::engine
