// Base64 with padding (RFC 4648 section 4), in which etcd's gateway writes keys and values.
//
// THREADS: pure functions.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::app {

std::string to_base64(std::string_view bytes);
// Nothing for what is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace weir::app
