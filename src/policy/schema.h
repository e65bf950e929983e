// Schema: one table of keys for each section of the file. The parser walks the tables, and the
// reference in docs/policy.md is printed from them (reference.h): what is documented is what is
// read.
//
// THREADS: the tables are constants.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/reader.h"

namespace weir::policy {

inline constexpr std::string_view kRequired = "required";

struct KeyDoc {
  std::string_view name;
  std::string_view type;      // "duration, 1ms to 1h"
  std::string_view fallback;  // as a file would write it; "" where leaving it out has no value
  std::string_view doc;       // one line
  Feature feature = Feature::kBuilt;
  bool secret = false;
};

template <typename T>
struct Field : KeyDoc {
  void (*read)(Reader& reader, const Entry& entry, T& out) = nullptr;
};

// One table, as the reference shows it.
struct SectionDoc {
  std::string_view title;  // "gateway.timeouts"
  std::string_view intro;  // one sentence, or empty
  std::vector<KeyDoc> keys;
};

template <typename T>
SectionDoc document(std::string_view title, std::string_view intro,
                    std::span<const Field<T>> fields) {
  return {title, intro, {fields.begin(), fields.end()}};
}

// Tells keys that `keys` does not hold, and hides those that may be misspelt secrets.
void refuse_unknown_keys(Reader& reader, const Entry& section, std::span<const KeyDoc> keys);

// Reads each key of the table that the mapping has, in the table's order; tells those that are
// missing, and those that are not built yet, which are read all the same.
template <typename T>
void read_known(Reader& reader, const Entry& section, std::span<const Field<T>> fields, T& out) {
  for (const Field<T>& field : fields) {
    const Entry* entry = section.value->find(field.name);
    if (entry != nullptr) {
      if (field.secret) reader.hide(*entry->value);
      field.read(reader, *entry, out);
      reader.refuse_unbuilt(field.feature, entry->at);
    } else if (field.fallback == kRequired) {
      reader.mistake(section.at, std::string(field.name) +
                                     " is missing, it must be given: " + std::string(field.type));
    }
  }
}

// A section of one table: no other keys are known.
template <typename T>
void read_fields(Reader& reader, const Entry& section, std::span<const Field<T>> fields, T& out) {
  if (read_mapping(reader, section) == nullptr) return;
  const std::vector<KeyDoc> keys(fields.begin(), fields.end());
  refuse_unknown_keys(reader, section, keys);
  read_known(reader, section, fields, out);
}

}  // namespace weir::policy
