// JsonFields: a few values out of a JSON text, named by pointers (RFC 6901), without building the
// rest.
//
// Strict as parse_json() is about what is JSON. A key stands once wherever a pointer leads through
// it: two parsers that pick different ones of two equal keys are a way around a limit. Keys that no
// pointer names are not compared, so that a text costs time in proportion to its length.
//
// THREADS: immutable; any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/result.h"

namespace weir {

struct JsonScalar {
  enum class Kind : std::uint8_t { kAbsent, kNull, kBool, kNumber, kString, kNested };

  Kind kind = Kind::kAbsent;
  // Of a string, the string; of a boolean, its word; of a number, one spelling of it: the digits of
  // a whole number as they stand, else without an exponent (1e3 is 1000, 1.50 is 1.5).
  std::string text;
  std::string number;  // a number as it was written

  // Whether there is one value to compare or count by.
  bool has_text() const {
    return kind == Kind::kBool || kind == Kind::kNumber || kind == Kind::kString;
  }
  void clear();
};

// A number without an exponent, in as few digits as tell it from its neighbours: one spelling.
std::string plain_number(double value);

// Appends the value as JSON, numbers as they were written; null for what has no text.
void append_json(std::string& out, const JsonScalar& value);

class JsonFields {
 public:
  JsonFields() : JsonFields(std::vector<std::string>{}) {}
  // REQUIRES: each is a pointer of RFC 6901 and not the empty one.
  explicit JsonFields(const std::vector<std::string>& pointers);

  // Puts what pointer i leads to into values[i]. ERRORS: kInvalid with what is wrong: no JSON,
  // nesting deeper than 32, a key of a pointer that stands twice.
  Result<bool> read(std::string_view text, std::vector<JsonScalar>& values) const;

  std::size_t size() const { return size_; }

 private:
  friend class JsonFieldsHandler;
  static constexpr std::size_t kNone = SIZE_MAX;

  // A place that pointers lead through or to.
  struct Place {
    std::vector<std::pair<std::string, std::size_t>> children;  // by token, to places_
    std::vector<std::size_t> values;                            // the pointers that end here
  };

  std::size_t find_child(std::size_t place, std::string_view token) const;

  std::vector<Place> places_;  // the first is the whole text
  std::size_t size_ = 0;
};

}  // namespace weir
