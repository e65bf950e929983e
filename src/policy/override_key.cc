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
  const auto block = any ? IpPrefix::parse(text) : std::nullopt;  // an address is one too
  if (block) {
    const bool v4 = block->network().is_v4();
    const unsigned counted = v4 ? identity.ipv4_prefix : identity.ipv6_prefix;
    if (block->bits() >= counted) return block->network().masked(counted).to_string();
    return Error{ErrorCode::kInvalid, "key has " + quote(text) + ", which is more than one key: " +
                                          (v4 ? "ipv4_prefix" : "ipv6_prefix") + " is " +
                                          std::to_string(counted)};
  }
  if (only) {
    return Error{ErrorCode::kInvalid, "key has " + quote(text) + ", wants an IP address"};
  }
  return text;
}

}  // namespace weir::policy
