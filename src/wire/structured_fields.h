// Structured fields (RFC 9651): the Lists of String items that RateLimit and RateLimit-Policy are.
//
//   "burst";q=100;w=60, "daily";q=1000;w=86400
//
// The writer appends items to a field's value. The parser reads Lists of Items with parameters of
// every bare type, since unknown parameters must be passed over and not stumbled on; inner lists
// are refused, as no field that we read has them. A malformed field is refused whole.
//
// THREADS: plain values and pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::structured_fields {

// The largest Integer that a field can say.
inline constexpr std::uint64_t kMaxInteger = 999'999'999'999'999;

class ListWriter {
 public:
  // Appends to `out`, which holds nothing of another list.
  explicit ListWriter(std::string& out) : out_(out) {}

  // A new item. False, and nothing is appended, when the text has other bytes than printable ASCII.
  [[nodiscard]] bool add_item(std::string_view text);
  // Of the item before. What is larger than kMaxInteger is written as kMaxInteger.
  // REQUIRES: `key` is a key (small letters, digits, _ - . *), written in our code.
  void add_parameter(std::string_view key, std::uint64_t value);
  [[nodiscard]] bool add_parameter(std::string_view key, std::string_view text);

 private:
  std::string& out_;
  bool first_ = true;
};

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
