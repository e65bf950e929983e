#include "policy/override_key.h"

#include <algorithm>

#include "base/ip.h"
#include "policy/words.h"

namespace weir::policy {

Result<std::string> override_value(const KeyPart& part, const std::string& text,
                                   const Identity& identity) {
  const auto is_ip = [](const Attribute& a) { return a.kind == Attribute::Kind::kIp; };
  const bool any = std::any_of(part.alternatives.begin(), part.alternatives.end(), is_ip);
  const bool only = any && part.alternatives.size() == 1;
  const auto address = any ? IpAddress::parse(text) : std::nullopt;
  if (address) {
    const unsigned bits = address->is_v4() ? identity.ipv4_prefix : identity.ipv6_prefix;
    return address->masked(bits).to_string();
  }
  if (only) {
    return Error{ErrorCode::kInvalid, "key has " + quote(text) + ", wants an IP address"};
  }
  return text;
}

}  // namespace weir::policy
