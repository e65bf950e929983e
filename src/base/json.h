// JSON in: strict, bounded, and one key one value. Boost.JSON behind a function, since parsers
// differ about duplicate keys ("last wins" here, "first wins" there), and two that read one body
// differently are a way around a limit: a duplicate key is a mistake.
//
// THREADS: any.

#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir {

// ERRORS: kInvalid with what is wrong and at which byte; also for nesting deeper than 32, a
// duplicate key, bytes behind the value, or text that is not UTF-8.
Result<boost::json::value> parse_json(std::string_view text);

// Appends `text` as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir
