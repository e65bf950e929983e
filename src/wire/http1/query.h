// Query strings as forms write them: name=value pairs joined by '&', percent-encoded, '+' for a
// blank (WHATWG URL, application/x-www-form-urlencoded).
//
// A '%' that is not followed by two hexadecimal digits stands for itself. Nothing is allocated for
// a value that needs no decoding. THREADS: pure functions.

#pragma once

#include <string>
#include <string_view>

#include "wire/http1/headers.h"

namespace weir::http1 {

// Appends `text` decoded. ENSURES: at most text.size() bytes are appended.
void append_decoded(std::string& out, std::string_view text);

// Whether `text`, decoded, is `plain`.
bool decodes_to(std::string_view text, std::string_view plain);

// How often the name stands in the query, and its first value: a view into `query`, or into
// `scratch` when it had to be decoded. A name without '=' has an empty value.
Found find_query(std::string_view query, std::string_view name, std::string& scratch);

}  // namespace weir::http1
