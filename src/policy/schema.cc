#include "policy/schema.h"

#include <algorithm>

namespace weir::policy {

void refuse_unknown_keys(Reader& reader, const Entry& section, std::span<const KeyDoc> keys) {
  std::vector<std::string_view> names;
  for (const KeyDoc& key : keys) names.push_back(key.name);
  for (const Entry& entry : section.value->entries) {
    const std::string_view name = entry.key;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string_view near = nearest_word(name, names);
    const auto meant =
        std::find_if(keys.begin(), keys.end(), [&](const KeyDoc& key) { return key.name == near; });
    if (meant != keys.end() && meant->secret) reader.hide(*entry.value);
    std::string message = "unknown key " + quote(name);
    if (!section.key.empty()) message += " in " + section.key;
    const std::string allowed = "known here: " + join_words(names, "and");
    if (near.empty()) {
      reader.mistake(entry.at, message + ", " + allowed);
    } else {
      reader.mistake(entry.at, message + ", did you mean " + std::string(near) + "?", allowed);
    }
  }
}

}  // namespace weir::policy
