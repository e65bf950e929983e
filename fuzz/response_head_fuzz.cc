// A response's head, whole against byte by byte. The first byte says whether it answers a HEAD.

#include "fuzz/support.h"
#include "wire/http1/response.h"

namespace {

using namespace weir;

constexpr http1::Limits kLimits{.max_headers = 8, .max_head_bytes = 512};

std::string outcome(http1::ResponseParser& parser, http1::Progress progress) {
  if (progress == http1::Progress::kNeedMore) return "more";
  if (progress == http1::Progress::kError) return std::string(parser.error().message);
  const http1::ResponseHead& head = parser.head();
  fuzz::require(head.status >= 100 && head.status <= 599, "a status is in range");
  std::string out = std::to_string(parser.consumed()) + " " + std::to_string(head.status) + " " +
                    std::to_string(static_cast<int>(head.body.kind)) + " " +
                    std::to_string(head.body.length) + (head.keep_alive ? " keep\n" : " close\n");
  fuzz::append_part(out, "reason", head.reason);
  for (const http1::Header header : head.headers) {
    fuzz::append_part(out, header.name, header.value);
  }
  return out;
}

std::string parse_bytewise(std::string_view text, bool to_head) {
  http1::ResponseParser parser(kLimits);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const fuzz::Block block(text.substr(0, size));
    const http1::Progress progress = parser.parse(block.view(), to_head);
    if (progress == http1::Progress::kNeedMore) continue;
    if (progress == http1::Progress::kComplete) parser.rebase(text.data());
    return outcome(parser, progress);
  }
  return "more";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool to_head = (data[0] & 1) != 0;
  const fuzz::Block whole(fuzz::text(data + 1, size - 1));
  http1::ResponseParser parser(kLimits);
  const http1::Progress progress = parser.parse(whole.view(), to_head);
  fuzz::require_equal(outcome(parser, progress), parse_bytewise(whole.view(), to_head),
                      "a response says the same whole and byte by byte");
  return 0;
}
