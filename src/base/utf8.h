// UTF-8, as far as writing labels and JSON needs it.

#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// Length of the UTF-8 character at the front of `text`, or 0 when that is none (overlong forms and
// surrogates are none). REQUIRES: text is not empty.
std::size_t utf8_length(std::string_view text);

}  // namespace weir
