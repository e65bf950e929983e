// `tiers` and `overrides` of a limit.

#include <array>
#include <unordered_set>
#include <utility>

#include "policy/limit_draft.h"
#include "policy/override_key.h"

namespace weir::policy {
namespace {

constexpr std::size_t kLongestTier = 256;

// The numbers of a tier or an override, those of the limit for what it leaves out. `other_keys`:
// how many keys of the mapping are no numbers.
std::optional<NumberSet> finish_part(Reader& reader, const LimitDraft& draft, const Entry& entry,
                                     const SetDraft& set, std::size_t other_keys) {
  if (set.empty()) {
    if (entry.value->entries.size() > other_keys) return std::nullopt;  // unknown: told already
    reader.mistake(set.place,
                   quote(entry.key) + " replaces no number, give it one or leave it out");
    return std::nullopt;
  }
  if (!draft.algorithm) return std::nullopt;  // told already
  return finish_set(reader, *draft.algorithm, set, &draft.set);
}

void read_tier(Reader& reader, const Entry& entry, LimitDraft& draft) {
  if (entry.key.empty() || entry.key.size() > kLongestTier) {
    reader.mistake(entry.at, quote(entry.key) + " is no tier, wants 1 to 256 bytes");
    return;
  }
  if (entry.value->is_scalar()) {
    if (read_word(reader, entry, {"unlimited"}) == 0) {
      draft.limit.tiers[entry.key] = NumberSet{Unlimited{}};
    }
    return;
  }
  if (read_mapping(reader, entry) == nullptr) return;
  SetDraft set;
  refuse_unknown_keys(reader, entry, set_keys());
  read_set(reader, entry, set);
  std::optional<NumberSet> numbers = finish_part(reader, draft, entry, set, 0);
  if (numbers) draft.limit.tiers[entry.key] = std::move(*numbers);
}

struct OverrideDraft {
  std::vector<std::string> key;
  std::vector<Position> places;
  Position key_at;
  bool key_right = false;
  bool unlimited = false;
};

void read_key_values(Reader& reader, const Entry& entry, OverrideDraft& out) {
  const std::size_t before = reader.mistakes();
  out.key_at = entry.at;
  for (const Entry& item : read_items(reader, entry, "a list of values, such as [\"user-42\"]")) {
    std::string value;
    if (!read_text(reader, item, value)) continue;
    out.key.push_back(std::move(value));
    out.places.push_back(item.at);
  }
  out.key_right = reader.mistakes() == before;
}

constexpr std::array kOverrideFields{
    Field<OverrideDraft>{{"key", "list of values", kRequired,
                          "The values of the limit's key, in its order: `[\"user-42\"]`."},
                         read_key_values},
    Field<OverrideDraft>{
        {"unlimited", "true or false", "false", "Instead of numbers: no limit."},
        [](Reader& r, const Entry& e, OverrideDraft& out) { read_bool(r, e, out.unlimited); }},
};

const std::vector<KeyDoc>& override_keys() {
  static const std::vector<KeyDoc> kKeys = [] {
    std::vector<KeyDoc> out(kOverrideFields.begin(), kOverrideFields.end());
    out.insert(out.end(), set_keys().begin(), set_keys().end());
    return out;
  }();
  return kKeys;
}

// As many values as the limit's key has parts, each in the form in which it is counted.
bool check_override_key(Reader& reader, const LimitDraft& draft, OverrideDraft& out) {
  if (!out.key_right || !draft.key_parts) return false;
  const std::size_t wanted = *draft.key_parts;
  if (wanted == 0) {
    reader.mistake(out.key_at, "the limit has no key, so that no override can be meant by one");
    return false;
  }
  if (out.key.size() != wanted) {
    reader.mistake(out.key_at, "key has " + std::to_string(out.key.size()) +
                                   " values, wants as many as the limit's key has parts: " +
                                   std::to_string(wanted));
    return false;
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    Result<std::string> value =
        override_value(draft.limit.key[i], out.key[i], draft.scope.identity);
    if (!value) {
      reader.mistake(out.places[i], value.error().message);
      return false;
    }
    out.key[i] = std::move(*value);
  }
  return true;
}

std::optional<Override> read_override(Reader& reader, const Entry& entry, LimitDraft& draft) {
  if (read_mapping(reader, entry) == nullptr) return std::nullopt;
  OverrideDraft parts;
  SetDraft set;
  refuse_unknown_keys(reader, entry, override_keys());
  read_known<OverrideDraft>(reader, entry, kOverrideFields, parts);
  read_set(reader, entry, set);
  const bool key_right = check_override_key(reader, draft, parts);
  std::optional<NumberSet> numbers;
  if (!parts.unlimited) {
    numbers = finish_part(reader, draft, entry, set, 1);
  } else if (set.empty()) {
    numbers = NumberSet{Unlimited{}};
  } else {
    reader.mistake(entry.at, "this override is unlimited and has numbers, keep one");
  }
  if (!key_right || !numbers) return std::nullopt;
  return Override{std::move(parts.key), std::move(*numbers)};
}

// The values of a key as one text that no other values give.
std::string joined(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += std::to_string(value.size()) + ":" + value;
  return out;
}

}  // namespace

void read_tiers(Reader& reader, LimitDraft& draft) {
  if (!draft.tiers) return;
  const Node* mapping = read_mapping(reader, *draft.tiers);
  if (mapping == nullptr) return;
  for (const Entry& tier : mapping->entries) read_tier(reader, tier, draft);
}

void read_overrides(Reader& reader, LimitDraft& draft) {
  if (!draft.overrides) return;
  std::unordered_set<std::string> seen;
  for (const Entry& item :
       read_items(reader, *draft.overrides, "a list such as [{key: [\"user-42\"], rate: 5/s}]")) {
    std::optional<Override> one = read_override(reader, item, draft);
    if (!one) continue;
    if (!seen.insert(joined(one->key)).second) {
      reader.mistake(item.at, "duplicate override: its key has one already, keep one");
      continue;
    }
    draft.limit.overrides.push_back(std::move(*one));
  }
}

void document_overrides(std::vector<SectionDoc>& out) {
  out.push_back(document<OverrideDraft>("limits[].overrides[]",
                                        "Beside these, the numbers of a limit.", kOverrideFields));
}

}  // namespace weir::policy
