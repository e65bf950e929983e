// Structured fields (RFC 9651): reads the Lists of String items that RateLimit and RateLimit-Policy
// are. (They are written in engine/rate_limit_item.h.)
//
//   "burst";q=100;w=60, "daily";q=1000;w=86400
//
// Parameters may be of every bare type, since unknown ones must be passed over and not stumbled on;
// inner lists are refused, as no field that we read has them. A malformed field is refused whole.
//
// THREADS: plain values and pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::structured_fields {

struct Value {
  enum class Kind : std::uint8_t {
    kInteger,        // integer
    kDecimal,        // text, as written
    kString,         // text, without quotes and escapes
    kToken,          // text
    kByteSequence,   // text, still in base64
    kBoolean,        // integer, 0 or 1
    kDate,           // integer, Unix seconds
    kDisplayString,  // text, decoded
  };

  Kind kind = Kind::kBoolean;
  std::int64_t integer = 1;
  std::string text;

  friend bool operator==(const Value&, const Value&) = default;
};

struct Parameter {
  std::string key;
  Value value;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Item {
  Value value;
  std::vector<Parameter> parameters;  // each key once: the last one counts

  // The parameter, or nothing.
  const Value* find(std::string_view key) const;

  friend bool operator==(const Item&, const Item&) = default;
};

// A field's whole value (several lines joined by ", "). An empty one is an empty list.
std::optional<std::vector<Item>> parse_list(std::string_view field);

}  // namespace weir::structured_fields
