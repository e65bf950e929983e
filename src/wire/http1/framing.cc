#include "wire/http1/framing.h"

#include <limits>

#include "base/letters.h"
#include "base/trim.h"
#include "wire/http1/characters.h"

namespace weir::http1 {

namespace {

// Codings that HTTP knows and we do not undo: an honest request, which is 501 and not 400.
bool is_known_coding(std::string_view coding) {
  for (const std::string_view known : {"gzip", "x-gzip", "deflate", "compress", "x-compress"}) {
    if (equals_ignore_case(coding, known)) return true;
  }
  return false;
}

bool ends_in_chunked_after_known_codings(std::string_view list) {
  while (list.find(',') != std::string_view::npos) {
    if (!is_known_coding(next_list_member(list))) return false;
  }
  return equals_ignore_case(trim(list), "chunked");
}

ParseError coding_error(std::string_view value) {
  if (ends_in_chunked_after_known_codings(value)) {
    return {501, "transfer-encoding other than chunked is not supported; use content-encoding"};
  }
  return {400, "transfer-encoding must be exactly chunked"};
}

}  // namespace

std::optional<std::uint64_t> parse_length(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is(c, kDigit)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::optional<Body> read_framing(const Headers& headers, int minor_version, Body::Kind fallback,
                                 ParseError& error) {
  const auto refuse = [&](ParseError why) {
    error = why;
    return std::nullopt;
  };
  const bool has_length = headers.has(HeaderId::kContentLength);
  if (headers.has(HeaderId::kTransferEncoding)) {
    if (has_length) return refuse({400, "content-length beside transfer-encoding; send one"});
    if (minor_version == 0) return refuse({400, "transfer-encoding does not exist in HTTP/1.0"});
    if (headers.repeated(HeaderId::kTransferEncoding)) {
      return refuse({400, "transfer-encoding stands twice; send it once"});
    }
    const std::string_view value = headers.find(HeaderId::kTransferEncoding).value;
    if (!equals_ignore_case(value, "chunked")) return refuse(coding_error(value));
    return Body{Body::Kind::kChunked, 0};
  }
  if (!has_length) return Body{fallback, 0};
  if (headers.repeated(HeaderId::kContentLength)) {
    return refuse({400, "content-length stands twice; send it once"});
  }
  const auto length = parse_length(headers.find(HeaderId::kContentLength).value);
  if (!length) return refuse({400, "content-length must be one whole number below 2^63"});
  return *length == 0 ? Body{} : Body{Body::Kind::kLength, *length};
}

}  // namespace weir::http1
