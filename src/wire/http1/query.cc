#include "wire/http1/query.h"

#include "base/hex.h"

namespace weir::http1 {

namespace {

// Takes one byte, decoded, off the front. REQUIRES: !text.empty().
char next_decoded(std::string_view& text) {
  const char c = text.front();
  if (c == '%') {
    if (const int byte = hex_byte(text, 1); byte >= 0) {
      text.remove_prefix(3);
      return static_cast<char>(byte);
    }
  }
  text.remove_prefix(1);
  return c == '+' ? ' ' : c;
}

bool needs_decoding(std::string_view text) {
  return text.find_first_of("%+") != std::string_view::npos;
}

}  // namespace

void append_decoded(std::string& out, std::string_view text) {
  while (!text.empty()) out.push_back(next_decoded(text));
}

bool decodes_to(std::string_view text, std::string_view plain) {
  for (const char wanted : plain) {
    if (text.empty() || next_decoded(text) != wanted) return false;
  }
  return text.empty();
}

Found find_query(std::string_view query, std::string_view name, std::string& scratch) {
  Found found;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const std::size_t equals = pair.find('=');
    if (pair.empty() || !decodes_to(pair.substr(0, equals), name)) continue;
    if (found.count++ != 0) continue;
    found.value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (!needs_decoding(found.value)) continue;
    const std::string_view encoded = found.value;
    scratch.clear();
    append_decoded(scratch, encoded);
    found.value = scratch;
  }
  return found;
}

}  // namespace weir::http1
