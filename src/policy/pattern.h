// Pattern: what a `match` writes for one attribute: an exact value, a list of alternatives, a
// wildcard, or ~regex (RE2, whole value). Linear time on any input.
//
// THREADS: immutable; any.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "weir/result.h"

namespace re2 {
class RE2;
}

namespace weir::policy {

class Pattern {
 public:
  enum class Kind : std::uint8_t {
    kExact,
    kWildcard,  // * matches any run of bytes, also none
    kPath,      // * one non-empty segment, ** any rest; /a/** also matches /a
    kRegex,
    kCidr,
  };

  struct Alternative {
    Kind kind = Kind::kExact;
    std::string text;  // as written, without the ~
    std::shared_ptr<const re2::RE2> regex;  // WHY shared: policies are copied, programs are big
    IpPrefix cidr;
  };

  // Adds one alternative, read as the attribute wants it.
  // ERRORS: kInvalid, saying what is wrong with it and what is allowed.
  Result<bool> add_text(std::string_view text);    // exact, wildcard or ~regex
  Result<bool> add_path(std::string_view text);    // exact, path wildcard or ~regex
  Result<bool> add_cidr(std::string_view text);    // an address or a block

  // `value` as text; matches_ip for kCidr.
  bool matches(std::string_view value) const;
  bool matches_ip(const IpAddress& address) const;

  const std::vector<Alternative>& alternatives() const { return alternatives_; }

 private:
  std::vector<Alternative> alternatives_;
};

}  // namespace weir::policy
