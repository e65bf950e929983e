// Cookies and query strings, against the plainest reading of them: split, decode, compare.
//
// Input: a name, a zero byte, and the text to look in.

#include <vector>

#include "base/trim.h"
#include "fuzz/support.h"
#include "wire/http1/characters.h"
#include "wire/http1/cookies.h"
#include "wire/http1/field_parser.h"
#include "wire/http1/query.h"

namespace {

using namespace weir;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

std::string decode(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && http1::is(text[i + 1], http1::kHexDigit) &&
        http1::is(text[i + 2], http1::kHexDigit)) {
      out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

std::string said(std::uint32_t count, std::string_view value) {
  return std::to_string(count) + " " + std::string(value);
}

std::string expected(const std::vector<std::pair<std::string, std::string>>& pairs,
                     std::string_view name) {
  std::uint32_t count = 0;
  std::string value;
  for (const auto& [key, text] : pairs) {
    if (key == name && count++ == 0) value = text;
  }
  return said(count, value);
}

void look_in_query(std::string_view name, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split(std::string(text), '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    pairs.emplace_back(decode(part.substr(0, equals)),
                       equals == std::string::npos ? "" : decode(part.substr(equals + 1)));
  }
  std::string scratch;
  const http1::Found found = http1::find_query(text, name, scratch);
  fuzz::require_equal(said(found.count, found.value), expected(pairs, name), "query");
}

void look_in_cookies(std::string_view name, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : split(std::string(text), ';')) {
    const std::string trimmed(trim(part));
    const std::size_t equals = trimmed.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    pairs.emplace_back(trim(std::string_view(trimmed).substr(0, equals)),
                       trim(std::string_view(trimmed).substr(equals + 1)));
  }
  http1::FieldParser parser(4);
  std::string head = "Cookie:";
  head.append(text).append("\r\n\r\n");
  std::uint32_t position = 0;
  if (parser.parse(head, position) != http1::Progress::kComplete) return;
  if (position != head.size()) return;
  const http1::Headers headers = parser.headers(head.data());
  if (headers.size() != 1) return;
  const http1::Found found = http1::find_cookie(headers, name);
  fuzz::require_equal(said(found.count, found.value), expected(pairs, name), "cookie");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block block(fuzz::text(data, size));
  const std::size_t zero = block.view().find('\0');
  if (zero == std::string_view::npos) return 0;
  const std::string_view name = block.view().substr(0, zero);
  const std::string_view text = block.view().substr(zero + 1);
  look_in_query(name, text);
  look_in_cookies(name, text);
  return 0;
}
