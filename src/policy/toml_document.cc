// read_toml() of document.h. toml++ is named in this file alone.

#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "policy/document.h"
#include "policy/toml_depth.h"

namespace weir::policy {
namespace {

constexpr const char* kTooDeep = "More than 64 lists and mappings within each other";

std::string lower_first(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] + 32);
  return out;
}

class Converter {
 public:
  Converter(const Source& source, const Environment& environment, Diagnostics& found)
      : source_(source), environment_(environment), found_(found) {}

  // `outer` is the place of the key above, for tables that no line of the file opens ([a.b] makes
  // an a); `depth` is how many lists and tables are around the node.
  NodePtr convert(const toml::node& node, Position outer, std::size_t depth = 0) const {
    const Position at = position(node.source().begin, outer);
    if (depth >= kDeepest && (node.is_table() || node.is_array())) {
      throw toml::parse_error(kTooDeep, toml::source_position{at.line, at.column});
    }
    if (const toml::table* table = node.as_table()) return convert_table(*table, at, depth + 1);
    if (const toml::array* array = node.as_array()) return convert_array(*array, at, depth + 1);
    if (const auto* text = node.as_string()) {
      return make_scalar(at, text->get(), Node::Form::kQuoted, environment_, source_, found_);
    }
    return plain(at, node);
  }

 private:
  static Position position(const toml::source_position& at, Position outer) {
    if (at.line == 0) return outer;
    return {static_cast<std::uint32_t>(at.line), static_cast<std::uint32_t>(at.column)};
  }

  NodePtr convert_table(const toml::table& table, Position at, std::size_t depth) const {
    auto out = std::make_shared<Node>();
    out->kind = Node::Kind::kMapping;
    out->at = at;
    for (auto&& [key, value] : table) {
      const Position key_at = position(key.source().begin, at);
      out->entries.push_back({std::string(key.str()), key_at, convert(value, key_at, depth)});
      out->size += out->entries.back().value->size;
    }
    // toml++ sorts tables by key; a policy is told in the order of its file.
    std::stable_sort(out->entries.begin(), out->entries.end(),
                     [](const Entry& a, const Entry& b) { return a.at < b.at; });
    return out;
  }

  NodePtr convert_array(const toml::array& array, Position at, std::size_t depth) const {
    auto out = std::make_shared<Node>();
    out->kind = Node::Kind::kSequence;
    out->at = at;
    for (auto&& item : array) {
      out->items.push_back(convert(item, at, depth));
      out->size += out->items.back()->size;
    }
    return out;
  }

  // Numbers, booleans and dates: the text of a YAML scalar without quotes.
  NodePtr plain(Position at, const toml::node& node) const {
    std::string text;
    if (const auto* integer = node.as_integer()) {
      text = std::to_string(integer->get());
    } else if (const auto* boolean = node.as_boolean()) {
      text = boolean->get() ? "true" : "false";
    } else {
      text = written(node.source());
    }
    return make_scalar(at, std::move(text), Node::Form::kPlain, environment_, source_, found_);
  }

  // WHY not the double: 0.2 is a fifth in the file, and not quite a fifth in a double.
  std::string written(const toml::source_region& region) const {
    const auto line = static_cast<std::uint32_t>(region.begin.line);
    const std::size_t begin =
        source_.byte_of_column(line, static_cast<std::uint32_t>(region.begin.column));
    const std::size_t end =
        source_.byte_of_column(line, static_cast<std::uint32_t>(region.end.column));
    std::string text(source_.line(line).substr(begin, end - begin));
    std::erase(text, '_');
    return text;
  }

  const Source& source_;
  const Environment& environment_;
  Diagnostics& found_;
};

toml::table parse(const Source& source) {
  const std::string_view text = source.text();
  const auto deep = find_too_deep_toml(text);
  if (!deep) return toml::parse(text);
  const std::string_view before = text.substr(0, *deep);
  const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // 0 in the first line
  throw toml::parse_error(kTooDeep,
                          toml::source_position{line, source.column_of_byte(line, *deep - begin)});
}

}  // namespace

NodePtr read_toml(const Source& source, const Environment& environment, Diagnostics& found) {
  // WHY exceptions: the distribution's library is built with them, and has no other entry.
  try {
    const toml::table table = parse(source);
    return Converter(source, environment, found).convert(table, Position{1, 1});
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    found.add({static_cast<std::uint32_t>(at.line), static_cast<std::uint32_t>(at.column)},
              "not TOML: " + lower_first(error.description()),
              "nothing after this place was looked at");
  }
  return nullptr;
}

}  // namespace weir::policy
