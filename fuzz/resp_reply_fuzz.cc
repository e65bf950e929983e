// RESP replies: read whole, and byte by byte, they must come to the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/resp/reply.h"

namespace {

using weir::resp::Progress;
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
  WEIR_CHECK(count == reply.size(), "a list holds as many values as it says");
  return text;
}

std::vector<std::string> read(std::string_view stream, std::size_t step) {
  std::vector<std::string> replies;
  ReplyParser parser;
  std::size_t begin = 0;
  for (std::size_t seen = 0; seen < stream.size();) {
    seen = std::min(stream.size(), seen + step);
    while (begin < seen) {
      const Progress progress = parser.parse(stream.substr(begin, seen - begin));
      if (progress == Progress::kNeedMore) break;
      if (progress == Progress::kError) {
        replies.emplace_back(parser.error());
        return replies;
      }
      WEIR_CHECK(parser.consumed() > 0, "a complete reply takes bytes");
      replies.push_back(show(parser.reply()));
      begin += parser.consumed();
    }
  }
  return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  WEIR_CHECK(read(stream, size + 1) == read(stream, 1), "the pieces make no difference");
  return 0;
}
