// RESP replies: read whole, and byte by byte, they must come to the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/resp_stream.h"
#include "wire/resp/reply.h"

namespace {

using weir::resp::Reply;
using weir::resp::ReplyParser;

std::string show(const Reply& reply) {
  std::string text = std::to_string(static_cast<int>(reply.type())) + ':';
  if (!reply.is_list()) return text.append(reply.text()) + ',' + std::to_string(reply.integer());
  std::size_t count = 0;
  for (Reply value = reply.first(); value.valid(); value = value.next()) {
    text += show(value) + ' ';
    ++count;
  }
  weir::fuzz::require(count == reply.size(), "a list holds as many values as it says");
  return text;
}

std::vector<std::string> read(std::string_view stream, std::size_t step) {
  return weir::fuzz::read_stream<ReplyParser>(
      stream, step, [](const ReplyParser& parser) { return show(parser.reply()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream = weir::fuzz::text(data, size);
  weir::fuzz::require(read(stream, size + 1) == read(stream, 1), "the pieces make no difference");
  return 0;
}
