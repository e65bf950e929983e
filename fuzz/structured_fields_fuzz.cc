// A structured field: whatever parses and can be written is written and parsed again.

#include "fuzz/support.h"
#include "wire/structured_fields.h"

namespace {

using namespace weir;
using structured_fields::Value;

// The list without what the writer has no words for.
std::vector<structured_fields::Item> writable(std::vector<structured_fields::Item> items) {
  std::erase_if(items, [](const auto& item) { return item.value.kind != Value::Kind::kString; });
  for (auto& item : items) {
    std::erase_if(item.parameters, [](const auto& parameter) {
      const Value& value = parameter.value;
      const bool number = value.kind == Value::Kind::kInteger && value.integer >= 0;
      return !number && value.kind != Value::Kind::kString;
    });
  }
  return items;
}

std::string write(const std::vector<structured_fields::Item>& items) {
  std::string out;
  structured_fields::ListWriter list(out);
  for (const auto& item : items) {
    fuzz::require(list.add_item(item.value.text), "strings that were read are writable");
    for (const auto& parameter : item.parameters) {
      if (parameter.value.kind == Value::Kind::kString) {
        fuzz::require(list.add_parameter(parameter.key, parameter.value.text), "and parameters");
      } else {
        list.add_parameter(parameter.key, static_cast<std::uint64_t>(parameter.value.integer));
      }
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Block block(fuzz::text(data, size));
  const auto items = structured_fields::parse_list(block.view());
  if (!items) return 0;
  const auto kept = writable(*items);
  const auto again = structured_fields::parse_list(write(kept));
  fuzz::require(again && *again == kept, "what was written is what was read");
  return 0;
}
