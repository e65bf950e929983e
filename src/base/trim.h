// trim: text without the blanks and tabs at both its ends.
//
// THREADS: a pure function.

#pragma once

#include <string_view>

namespace weir {

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace weir
