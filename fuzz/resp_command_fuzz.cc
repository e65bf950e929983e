// RESP commands: read whole, and byte by byte, they must come to the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/resp/command.h"

namespace {

using weir::resp::CommandParser;
using weir::resp::Progress;

using Words = std::vector<std::string>;

std::vector<Words> read(std::string_view stream, std::size_t step) {
  std::vector<Words> commands;
  CommandParser parser;
  std::size_t begin = 0;
  for (std::size_t seen = 0; seen < stream.size();) {
    seen = std::min(stream.size(), seen + step);
    while (begin < seen) {
      const Progress progress = parser.parse(stream.substr(begin, seen - begin));
      if (progress == Progress::kNeedMore) break;
      if (progress == Progress::kError) {
        commands.push_back({std::string(parser.error())});
        return commands;
      }
      WEIR_CHECK(parser.consumed() > 0, "a complete command takes bytes");
      commands.emplace_back(parser.arguments().begin(), parser.arguments().end());
      begin += parser.consumed();
    }
  }
  return commands;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  WEIR_CHECK(read(stream, size + 1) == read(stream, 1), "the pieces make no difference");
  return 0;
}
