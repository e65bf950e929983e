// Attribute: the name of one thing known of a request, as policies write it: ip, user, tier,
// method, path, host, header.<name>, cookie.<name>, query.<name>, domain, message,
// message.<pointer>, and those that a policy declares.
//
// THREADS: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::policy {

struct Attribute {
  enum class Kind : std::uint8_t {
    kIp,
    kUser,
    kTier,
    kMethod,
    kPath,
    kHost,
    kHeader,
    kCookie,
    kQuery,
    kDomain,
    kMessage,
    kMessagePointer,
    kDeclared,
  };

  Kind kind = Kind::kIp;
  std::string name;  // of a header (lower case), cookie, query, pointer or declared attribute

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// The attribute that `text` names, or nothing. `declared` are the policy's own names.
std::optional<Attribute> parse_attribute(std::string_view text,
                                         const std::vector<std::string>& declared);

std::string to_string(const Attribute& attribute);

}  // namespace weir::policy
