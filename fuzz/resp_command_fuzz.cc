// RESP commands: read whole, and byte by byte, they must come to the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/resp_stream.h"
#include "wire/resp/command.h"

namespace {

using weir::resp::CommandParser;

using Words = std::vector<std::string>;

std::vector<Words> read(std::string_view stream, std::size_t step) {
  return weir::fuzz::read_stream<CommandParser>(stream, step, [](const CommandParser& parser) {
    return Words(parser.arguments().begin(), parser.arguments().end());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream = weir::fuzz::text(data, size);
  weir::fuzz::require(read(stream, size + 1) == read(stream, 1), "the pieces make no difference");
  return 0;
}
