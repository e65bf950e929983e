// Words: what a mistake's message is made of. Lists of what is allowed, the nearest right word, and
// what a person wrote, made safe to print.
//
// THREADS: pure functions.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::policy {

// The candidate that `word` most likely meant, or "" when none is near: at most a third of its
// letters wrong (insert, delete, replace, swap of neighbours), case, - and _ not counted. The first
// of equals. Words above 64 bytes are near nothing.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

// "a", "a or b", "a, b or c".
std::string join_words(std::span<const std::string_view> words, std::string_view last = "or");

// 'text' in quotes: control bytes as ?, at most 60 bytes, then "...".
std::string quote(std::string_view text);

inline constexpr std::size_t kMaxNameBytes = 64;

// Whether `text` is a name: [A-Za-z0-9_.-], 1 to kMaxNameBytes of them.
bool is_name(std::string_view text);

}  // namespace weir::policy
