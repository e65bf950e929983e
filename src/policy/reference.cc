#include "policy/reference.h"

#include "policy/sections.h"

namespace weir::policy {
namespace {

// A `|` would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string default_cell(const KeyDoc& key) {
  if (key.fallback.empty()) return "";
  if (key.fallback == kRequired) return "**required**";
  return "`" + cell(key.fallback) + "`";
}

std::string row(const KeyDoc& key) {
  std::string out = "| `" + std::string(key.name) + "` | " + cell(key.type) + " | " +
                    default_cell(key) + " | " + cell(key.doc);
  if (not_yet(key.feature)) out += " **Not yet.**";
  return out + " |\n";
}

}  // namespace

std::string reference() {
  std::string out;
  for (const SectionDoc& section : document_policy()) {
    const bool name = section.title.find(' ') == std::string_view::npos;
    const std::string mark = name ? "`" : "";
    out += "### " + mark + std::string(section.title) + mark + "\n\n";
    if (!section.intro.empty()) out += std::string(section.intro) + "\n\n";
    out += "| key | value | default | |\n| --- | --- | --- | --- |\n";
    for (const KeyDoc& key : section.keys) out += row(key);
    out += "\n";
  }
  return out;
}

}  // namespace weir::policy
