// A structured field: what was read, of strings and whole numbers, is written and read again.

#include "fuzz/support.h"
#include "wire/structured_fields.h"

namespace {

using namespace weir;
using structured_fields::Value;

// The list without what write() has no words for.
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

void append_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

std::string write(const std::vector<structured_fields::Item>& items) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out.append(", ");
    append_string(out, item.value.text);
    for (const auto& parameter : item.parameters) {
      out.append(";" + parameter.key + "=");
      if (parameter.value.kind == Value::Kind::kString) {
        append_string(out, parameter.value.text);
      } else {
        out.append(std::to_string(parameter.value.integer));
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
