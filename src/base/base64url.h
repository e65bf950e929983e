// Base64 for URLs and identifiers (RFC 4648 section 5), without padding.
//
// THREADS: plain functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

void append_base64url(std::string& out, std::string_view bytes);

// Nothing for what append_base64url() does not write: other characters, padding, a length that no
// bytes have, spare bits that are not 0.
std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace weir
