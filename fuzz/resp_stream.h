// Both sides of RESP as streams of commands or replies, for their fuzzers.
//
// THREADS: one.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/support.h"

namespace weir::fuzz {

// What a stream of RESP comes to that is handed to `Parser` `step` bytes at a time: what `take`
// makes of each command or reply, and the error that ended it.
template <typename Parser, typename Take>
auto read_stream(std::string_view stream, std::size_t step, Take take) {
  using Progress = decltype(std::declval<Parser&>().parse(stream));
  std::vector<decltype(take(std::declval<Parser&>()))> taken;
  Parser parser;
  std::size_t begin = 0;
  for (std::size_t seen = 0; seen < stream.size();) {
    seen = std::min(stream.size(), seen + step);
    while (begin < seen) {
      const Progress progress = parser.parse(stream.substr(begin, seen - begin));
      if (progress == Progress::kNeedMore) break;
      if (progress == Progress::kError) {
        taken.push_back({std::string(parser.error())});
        return taken;
      }
      require(parser.consumed() > 0, "what is complete takes bytes");
      taken.push_back(take(parser));
      begin += parser.consumed();
    }
  }
  return taken;
}

}  // namespace weir::fuzz
