#include "policy/load.h"

#include <utility>

#include "base/text_file.h"
#include "base/utf8.h"
#include "policy/document.h"
#include "policy/sections.h"
#include "policy/warnings.h"
#include "weir/result.h"

namespace weir::policy {
namespace {

Result<PolicyText> read_file(const std::string& path, Format format) {
  Result<TextFile> file = read_text_file(path, kLargestFile);
  if (file) return PolicyText{path, std::move(file->text), format, file->world_readable};
  Error error = file.error();
  if (error.code == ErrorCode::kInvalid) error.message += "; name one policy file";
  return error;
}

Loaded refused(const std::string& name, std::string message) {
  Loaded out;
  out.mistakes.push_back({name, {}, std::move(message), "", "", 0});
  return out;
}

// The first byte that no text may hold, or npos.
std::size_t bad_byte(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = text[at] == '\0' ? 0 : utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

Position place_of_byte(const Source& source, std::size_t byte) {
  const std::string_view before = source.text().substr(0, byte);
  std::uint32_t line = 1;
  for (char c : before) line += c == '\n' ? 1 : 0;
  const std::size_t start = before.rfind('\n');
  return {line, source.column_of_byte(line, start == before.npos ? byte : byte - start - 1)};
}

// Walks the tree into a policy. False: there was none to walk.
bool read_tree(Reader& reader, NodePtr root, Policy& policy) {
  const bool empty = root == nullptr || root->kind == Node::Kind::kNull ||
                     (root->kind == Node::Kind::kMapping && root->entries.empty());
  if (empty) {
    reader.mistake({1, 1}, "the file is empty, wants at least limits: [] (which limits nothing)");
    return false;
  }
  if (root->kind != Node::Kind::kMapping) {
    reader.mistake(root->at, "the file is not a mapping of keys to values, wants limits: [...]");
    return false;
  }
  read_policy(reader, Entry{"", Position{1, 1}, std::move(root)}, policy);
  return true;
}

}  // namespace

std::optional<Format> format_of(std::string_view name) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return Format::kYaml;
  if (name.ends_with(".toml")) return Format::kToml;
  return std::nullopt;
}

Result<PolicyText> read_policy_file(const std::string& path) {
  const auto format = format_of(path);
  if (format) return read_file(path, *format);
  return Error{ErrorCode::kInvalid, "is no policy by its name, wants .yaml, .yml or .toml"};
}

Loaded load(PolicyText written, const LoadOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (written.text.starts_with(kByteOrderMark)) written.text.erase(0, kByteOrderMark.size());
  Source source(written.name, std::move(written.text));
  Diagnostics mistakes(source);
  Diagnostics doubts(source);
  Reader reader(source, mistakes, doubts);
  Policy policy;
  policy.file = written.name;
  const Environment environment = [&](const std::string& variable) {
    std::optional<std::string> value = options.environment(variable);
    if (value) source.redact(*value, "${" + variable + "}");
    return value;
  };

  NodePtr tree;
  const std::size_t bad = bad_byte(source.text());
  if (bad != std::string_view::npos) {
    mistakes.add(place_of_byte(source, bad), "this byte is not UTF-8 text, save the file as UTF-8");
  } else {
    tree = written.format == Format::kYaml ? read_yaml(source, environment, mistakes)
                                           : read_toml(source, environment, mistakes);
    const bool parsed = tree != nullptr || mistakes.count() == 0;
    if (parsed && read_tree(reader, tree, policy)) {
      warn(reader, *tree, policy, written.world_readable);
    }
  }

  Loaded out;
  const bool right = mistakes.count() == 0;
  out.mistakes = mistakes.take();
  out.warnings = doubts.take();
  if (!right) return out;
  out.policy = std::move(policy);
  out.tree = std::move(tree);
  return out;
}

Loaded load_file(const std::string& path, const LoadOptions& options) {
  Result<PolicyText> text = read_policy_file(path);
  if (!text) return refused(path, text.error().message);
  return load(std::move(*text), options);
}

Loaded load_text(const std::string& name, std::string text, Format format,
                 const LoadOptions& options) {
  return load(PolicyText{name, std::move(text), format, false}, options);
}

}  // namespace weir::policy
