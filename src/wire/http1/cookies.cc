#include "wire/http1/cookies.h"

#include "base/trim.h"
#include "wire/http1/characters.h"

namespace weir::http1 {

std::optional<Pair> next_cookie(std::string_view& field) {
  while (!field.empty()) {
    const std::size_t end = field.find(';');
    const std::string_view part = trim(field.substr(0, end));
    field.remove_prefix(end == std::string_view::npos ? field.size() : end + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    return Pair{trim(part.substr(0, equals)), trim(part.substr(equals + 1))};
  }
  return std::nullopt;
}

Found find_cookie(const Headers& headers, std::string_view name) {
  Found found;
  if (!headers.has(HeaderId::kCookie)) return found;
  for (const Header header : headers) {
    if (header.id != HeaderId::kCookie) continue;
    std::string_view rest = header.value;
    while (const auto pair = next_cookie(rest)) {
      if (pair->name != name) continue;
      if (found.count++ == 0) found.value = pair->value;
    }
  }
  return found;
}

}  // namespace weir::http1
