// Amounts as a request or an upstream says them: a decimal number of tokens.
//
// THREADS: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::engine {

// "7" or "2.5", rounded up; nothing for any other text. Saturates.
std::optional<std::uint64_t> parse_amount(std::string_view text);

}  // namespace weir::engine
