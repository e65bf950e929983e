#include "wire/http1/headers.h"

#include "base/letters.h"
#include "base/trim.h"

namespace weir::http1 {

namespace {

// REQUIRES: `lower` holds small letters and '-' only, `name` is a token of the same size.
bool same(std::string_view name, std::string_view lower) {
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if ((name[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

HeaderId pick(std::string_view name, std::string_view lower, HeaderId id) {
  return same(name, lower) ? id : HeaderId::kOther;
}

}  // namespace

HeaderId identify(std::string_view name) {
  switch (name.size()) {
    case 2:
      return pick(name, "te", HeaderId::kTe);
    case 3:
      return pick(name, "via", HeaderId::kVia);
    case 4:
      if (same(name, "host")) return HeaderId::kHost;
      return pick(name, "date", HeaderId::kDate);
    case 6:
      if (same(name, "cookie")) return HeaderId::kCookie;
      return pick(name, "expect", HeaderId::kExpect);
    case 7:
      if (same(name, "upgrade")) return HeaderId::kUpgrade;
      return pick(name, "trailer", HeaderId::kTrailer);
    case 10:
      if (same(name, "connection")) return HeaderId::kConnection;
      return pick(name, "keep-alive", HeaderId::kKeepAlive);
    case 12:
      return pick(name, "content-type", HeaderId::kContentType);
    case 14:
      return pick(name, "content-length", HeaderId::kContentLength);
    case 16:
      return pick(name, "proxy-connection", HeaderId::kProxyConnection);
    case 17:
      return pick(name, "transfer-encoding", HeaderId::kTransferEncoding);
    case 18:
      return pick(name, "proxy-authenticate", HeaderId::kProxyAuthenticate);
    case 19:
      return pick(name, "proxy-authorization", HeaderId::kProxyAuthorization);
    default:
      return HeaderId::kOther;
  }
}

bool is_hop_by_hop(HeaderId id) {
  constexpr std::uint32_t kNames =
      Headers::bit(HeaderId::kConnection) | Headers::bit(HeaderId::kKeepAlive) |
      Headers::bit(HeaderId::kProxyAuthenticate) | Headers::bit(HeaderId::kProxyAuthorization) |
      Headers::bit(HeaderId::kProxyConnection) | Headers::bit(HeaderId::kTe) |
      Headers::bit(HeaderId::kTrailer) | Headers::bit(HeaderId::kTransferEncoding) |
      Headers::bit(HeaderId::kUpgrade);
  return (kNames & Headers::bit(id)) != 0;
}

// How many fields have the name of the one at `first`, that one included.
std::uint32_t Headers::count_from(std::size_t first) const {
  std::uint32_t count = 0;
  for (std::size_t i = first; i < size(); ++i) {
    if (table_->slots[i].id == table_->slots[first].id) ++count;
  }
  return count;
}

Found Headers::find(std::string_view name) const {
  Found found;
  for (const Header header : *this) {
    if (!equals_ignore_case(header.name, name)) continue;
    if (found.count++ == 0) found.value = header.value;
  }
  return found;
}

bool Headers::lists(HeaderId id, std::string_view token) const {
  if (!has(id)) return false;
  for (const Header header : *this) {
    if (header.id == id && list_has(header.value, token)) return true;
  }
  return false;
}

bool keeps_alive(const Headers& headers, int minor_version) {
  if (!headers.has(HeaderId::kConnection)) return minor_version == 1;
  if (headers.lists(HeaderId::kConnection, "close")) return false;
  return minor_version == 1 || headers.lists(HeaderId::kConnection, "keep-alive");
}

std::string_view next_list_member(std::string_view& list) {
  const std::size_t comma = list.find(',');
  const std::string_view member = trim(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return member;
}

bool list_has(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    if (equals_ignore_case(next_list_member(list), token)) return true;
  }
  return false;
}

}  // namespace weir::http1
