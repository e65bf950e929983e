// "1 limit", "2 limits": a number and what it counts, for people.
//
// THREADS: a pure function.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// `one`: a word whose plural ends in s.
inline std::string counted(std::uint64_t count, std::string_view one) {
  std::string text = std::to_string(count) + ' ';
  text += one;
  if (count != 1) text += 's';
  return text;
}

}  // namespace weir
