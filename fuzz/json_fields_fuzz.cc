// Values of a JSON text by pointers, against the same values of the whole text built.

#include "base/json_fields.h"

#include <boost/json/value.hpp>

#include "base/json.h"
#include "fuzz/support.h"

namespace {

using namespace weir;

const JsonFields& fields() {
  static const JsonFields fields({"/type", "/a/b", "/a", "/0/type", "/~1~0"});
  return fields;
}

constexpr std::size_t kFields = 5;
constexpr const char* kPointers[kFields] = {"/type", "/a/b", "/a", "/0/type", "/~1~0"};

JsonScalar::Kind kind_of(const boost::json::value& whole, const char* pointer) {
  boost::json::error_code code;
  const boost::json::value* found = whole.find_pointer(pointer, code);
  if (found == nullptr) return JsonScalar::Kind::kAbsent;
  if (found->is_null()) return JsonScalar::Kind::kNull;
  if (found->is_bool()) return JsonScalar::Kind::kBool;
  if (found->is_number()) return JsonScalar::Kind::kNumber;
  return found->is_string() ? JsonScalar::Kind::kString : JsonScalar::Kind::kNested;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block block(fuzz::text(data, size));
  std::vector<JsonScalar> values;
  const auto read = fields().read(block.view(), values);
  const auto whole = parse_json(block.view());
  // It may allow equal keys that no pointer names; in all else the two agree.
  if (whole) fuzz::require(read.has_value(), "what parses whole can be read by pointers");
  if (!read || !whole) return 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    fuzz::require(values[i].kind == kind_of(*whole, kPointers[i]), "a pointer leads to one value");
    std::string written;
    append_json(written, values[i]);
    fuzz::require(parse_json(written).has_value(), "what is written again is JSON");
    if (values[i].kind != JsonScalar::Kind::kString) continue;
    boost::json::error_code code;
    const auto& text = whole->find_pointer(kPointers[i], code)->get_string();
    fuzz::require(values[i].text == std::string_view(text.data(), text.size()), "the same text");
  }
  return 0;
}
