// UTF-8, as far as writing labels, log lines and JSON needs it.

#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// Length of the UTF-8 character at the front of `text`, or 0 when that is none (overlong forms and
// surrogates are none). REQUIRES: text is not empty.
std::size_t utf8_length(std::string_view text);

// Whether a terminal or an editor acts on this one character where it should show it: the control
// characters of ASCII and of Latin-1 (U+009B begins an escape sequence), separators of lines, and
// what turns the direction of writing. REQUIRES: utf8_length(character) == character.size().
bool utf8_is_control(std::string_view character);

}  // namespace weir
