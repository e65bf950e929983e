// A request's head, whole against byte by byte; and what was read, written and read again.

#include "fuzz/support.h"
#include "wire/http1/cookies.h"
#include "wire/http1/request.h"
#include "wire/http1/writer.h"
#include "wire/websocket/handshake.h"

namespace {

using namespace weir;

// Small bounds, so that short inputs reach them.
constexpr http1::Limits kLimits{.max_headers = 8, .max_head_bytes = 512, .max_target_bytes = 64};

std::string describe(const http1::RequestHead& head) {
  std::string out;
  fuzz::append_part(out, "method", head.method);
  fuzz::append_part(out, "target", head.target);
  fuzz::append_part(out, "path", head.path);
  fuzz::append_part(out, "query", head.query);
  fuzz::append_part(out, "host", head.host);
  fuzz::append_part(out, "flags",
                    std::to_string(head.minor_version) + (head.has_query ? "?" : "") +
                        (head.keep_alive ? "k" : "") + (head.expect_continue ? "e" : "") +
                        (head.upgrade ? "u" : ""));
  fuzz::append_part(
      out, "body",
      std::to_string(static_cast<int>(head.body.kind)) + " " + std::to_string(head.body.length));
  for (const http1::Header header : head.headers) {
    fuzz::append_part(out, header.name, header.value);
  }
  return out;
}

std::string outcome(http1::RequestParser& parser, http1::Progress progress) {
  if (progress == http1::Progress::kNeedMore) return "more";
  if (progress == http1::Progress::kComplete) {
    return std::to_string(parser.consumed()) + "\n" + describe(parser.head());
  }
  fuzz::require(parser.error().status >= 400 && !parser.error().message.empty(),
                "a refusal has a status and a reason");
  return std::to_string(parser.error().status) + " " + std::string(parser.error().message);
}

std::string parse_bytewise(std::string_view text) {
  http1::RequestParser parser(kLimits);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const fuzz::Block block(text.substr(0, size));
    const http1::Progress progress = parser.parse(block.view());
    if (progress == http1::Progress::kNeedMore) continue;
    if (progress == http1::Progress::kComplete) parser.rebase(text.data());
    return outcome(parser, progress);
  }
  return "more";
}

void read_again(const http1::RequestHead& head) {
  std::string text;
  fuzz::require(http1::append_request_line(text, head.method, head.target), "the line is writable");
  for (const http1::Header header : head.headers) {
    fuzz::require(http1::append_header(text, header.name, header.value), "headers are writable");
  }
  http1::append_end_of_headers(text);
  if (head.minor_version == 0) return;
  http1::RequestParser parser(http1::Limits{});
  fuzz::require(parser.parse(text) == http1::Progress::kComplete, "what was written is read");
  fuzz::require_equal(describe(parser.head()), describe(head), "what was written is what was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block whole(fuzz::text(data, size));
  http1::RequestParser parser(kLimits);
  const http1::Progress progress = parser.parse(whole.view());
  fuzz::require_equal(outcome(parser, progress), parse_bytewise(whole.view()),
                      "a request says the same whole and byte by byte");
  if (progress != http1::Progress::kComplete) return 0;
  fuzz::require(parser.consumed() <= size, "no more is consumed than there is");
  read_again(parser.head());
  if (websocket::is_handshake(parser.head())) (void)websocket::read_handshake(parser.head());
  return 0;
}
