// Where a TOML text nests deeper than kDeepest, told before toml++ reads it. WHY before: toml++
// bounds lists and inline tables, but makes a table of each part of a.b.c and of [a.b.c], however
// many, and goes through them by recursion.
//
// Looks at brackets, dots, strings and comments only. What is no TOML is toml++'s to tell. A
// table's header and the keys under it are counted apart: both together nest no more than twice as
// deep.
//
// THREADS: pure function.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir::policy {

// The byte at which the text is too deep; nothing where it is not.
std::optional<std::size_t> find_too_deep_toml(std::string_view text);

}  // namespace weir::policy
