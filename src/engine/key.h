// Key: whom a limit counts, as bytes that no two different tuples of values share.
//
//   part    = name value                 of the alternative that was present
//           / "-"                        none was, and the limit says `missing: share`
//   name    = netstring                  the attribute: "2:ip,", "11:header.x-id,"
//   value   = netstring                  "11:203.0.113.5,"
//   netstring = length ":" bytes ","     the length in decimal digits
//
// The name keeps a user called 203.0.113.5 apart from the address. Addresses are cut to the
// policy's prefix and written in canonical text.
//
// THREADS: immutable; any.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/request_view.h"
#include "policy/policy.h"

namespace weir::engine {

// Appends text with what is not printable ASCII as \xNN, and a backslash as two.
void append_printable(std::string& out, std::string_view text);

// An encoded key for people: "ip=203.0.113.5,user=42", a missing part as "-". Not injective.
// REQUIRES: KeySpec::append wrote it.
std::string readable_key(std::string_view encoded);

// The parts of an encoded key, in their order: the attribute that was present, and its value; both
// empty where none was. REQUIRES: KeySpec::append wrote it.
std::vector<std::pair<std::string, std::string>> key_parts(std::string_view encoded);

class KeySpec {
 public:
  KeySpec() = default;
  KeySpec(const std::vector<policy::KeyPart>& parts, const policy::Policy& policy);

  enum class Outcome {
    kComplete,
    kShared,   // a part was missing and stands as "-"
    kMissing,  // a part was missing; what was appended is of no use
  };

  // Appends the request's key. `share_missing`: a missing part becomes "-".
  Outcome append(RequestView& request, bool share_missing, std::string& out) const;

  // Appends the key of the values that an override names, as append() would write it for a request
  // that has them, one for each way in which the values can be read: a value that is an address
  // stands for the address where the part counts addresses, and for nothing else there.
  std::vector<std::string> read_values(const std::vector<std::string>& values) const;

  bool empty() const { return parts_.empty(); }

 private:
  struct Alternative {
    policy::Attribute attribute;
    std::string name;  // its netstring
  };
  using Part = std::vector<Alternative>;

  bool append_part(const Part& part, RequestView& request, std::string& out) const;
  void append_address(const IpAddress& address, std::string& out) const;
  std::vector<std::string> read_value(const Part& part, const std::string& value) const;

  std::vector<Part> parts_;
  unsigned ipv4_prefix_ = 32;
  unsigned ipv6_prefix_ = 64;
  policy::Paths paths_;
};

}  // namespace weir::engine
