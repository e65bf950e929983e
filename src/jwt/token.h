// A JSON Web Token in compact form (RFC 7519, RFC 7515), taken apart and read strictly:
//
//   base64url(header) "." base64url(payload) "." base64url(signature)
//
// Nothing here is believed yet: the signature is another's work (verifier.h). Read strictly, since
// two readers that differ are a way around a check: no padding, no spare bits, no key that stands
// twice, at most 32 levels.
//
// THREADS: pure functions.

#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::jwt {

inline constexpr std::size_t kMaxTokenBytes = 8 * 1024;

struct Token {
  std::string algorithm;
  std::string key_id;  // empty where the header names none
  boost::json::object payload;
};

// ERRORS: kInvalid with what is wrong; never a part of the token.
Result<Token> read_token(std::string_view text);

// From when until when a payload holds: [not_before, expires), nanoseconds of Unix time.
struct Validity {
  std::int64_t not_before_ns;
  std::int64_t expires_ns;
};

// `exp` and `nbf`, whole seconds or with decimals; those that are missing bound nothing.
// ERRORS: kInvalid for one that is no time.
Result<Validity> read_validity(const boost::json::object& payload);

// Whether `aud`, a text or a list of them, holds `audience`.
bool has_audience(const boost::json::object& payload, std::string_view audience);

// A claim as an attribute: a text that is not empty, a whole number, true or false.
std::optional<std::string> read_claim(const boost::json::object& payload, std::string_view name);

}  // namespace weir::jwt
