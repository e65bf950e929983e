#include "policy/change.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "policy/algorithm_keys.h"
#include "policy/limit_draft.h"
#include "policy/match.h"
#include "policy/override_key.h"

namespace weir::policy {
namespace {

namespace json = boost::json;

using Entries = std::vector<Entry>;

NodePtr to_node(const json::value& value);

NodePtr to_mapping(const json::object& object) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kMapping;
  for (const auto& [key, value] : object) {
    node->entries.push_back({std::string(key), {}, to_node(value)});
  }
  return node;
}

// A text is one with quotes, as in YAML: "5" is no number.
NodePtr to_node(const json::value& value) {
  if (const json::object* object = value.if_object()) return to_mapping(*object);
  auto node = std::make_shared<Node>();
  if (const json::array* array = value.if_array()) {
    node->kind = Node::Kind::kSequence;
    for (const json::value& item : *array) node->items.push_back(to_node(item));
  } else if (const json::string* text = value.if_string()) {
    node->kind = Node::Kind::kScalar;
    node->form = Node::Form::kQuoted;
    node->text = std::string_view(*text);
  } else if (!value.is_null()) {
    node->kind = Node::Kind::kScalar;
    // WHY not as JSON has it: that writes 0.2 as 2E-1, and no number of a policy has an exponent.
    node->text = value.is_double() ? plain_number(value.get_double()) : json::serialize(value);
  }
  return node;
}

NodePtr to_node(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return to_node(json::value(std::move(array)));
}

Entry* find(Entries& entries, std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

void set(Entries& entries, std::string_view key, NodePtr value) {
  if (Entry* entry = find(entries, key)) {
    entry->value = std::move(value);
  } else {
    entries.push_back({std::string(key), {}, std::move(value)});
  }
}

NodePtr mapping_of(Entries entries) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kMapping;
  node->entries = std::move(entries);
  return node;
}

constexpr std::array<std::string_view, 2> kLists{"windows", "buckets"};

bool is_list(std::string_view key) {
  return std::find(kLists.begin(), kLists.end(), key) != kLists.end();
}

bool is_number(std::string_view key) {
  const auto& keys = set_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [key](const KeyDoc& one) { return one.name == key; });
}

// Whether the text keeps the numbers of its algorithm in a table of that name.
Entry* table_of(Entries& limit) {
  const Entry* algorithm = find(limit, "algorithm");
  if (algorithm == nullptr || !algorithm->value->is_scalar()) return nullptr;
  Entry* table = find(limit, algorithm->value->text);
  return table != nullptr && table->value->kind == Node::Kind::kMapping ? table : nullptr;
}

// One pair of numbers takes the place of several, and the other way round; a number goes to where
// the text has its numbers.
void set_number(Entries& limit, const std::string& key, NodePtr value) {
  std::erase_if(limit, [&](const Entry& entry) {
    const bool list = is_list(entry.key);
    const bool flat = is_number(entry.key) && entry.value->is_scalar();
    return is_list(key) ? flat : list;
  });
  const bool flat = value->is_scalar();
  if (Entry* table = flat ? table_of(limit) : nullptr) {
    Entries numbers = table->value->entries;
    set(numbers, key, std::move(value));
    table->value = mapping_of(std::move(numbers));
    return;
  }
  set(limit, key, std::move(value));
}

void set_tiers(Entries& limit, const Node& tiers) {
  const Entry* written = find(limit, "tiers");
  Entries merged = written == nullptr ? Entries{} : written->value->entries;
  for (const Entry& tier : tiers.entries) set(merged, tier.key, tier.value);
  set(limit, "tiers", mapping_of(std::move(merged)));
}

// With the numbers of the old one that stand flat and that it does not take: who asks for another
// algorithm cannot take them out.
void set_algorithm(Entries& limit, const json::value& algorithm) {
  set(limit, "algorithm", to_node(algorithm));
  const json::string* name = algorithm.if_string();
  const auto all = algorithm_keys();
  const auto keys = std::find_if(all.begin(), all.end(), [&](const AlgorithmKeys& one) {
    return name != nullptr && one.name == std::string_view(*name);
  });
  if (keys == all.end()) return;
  std::erase_if(limit, [&](const Entry& entry) {
    if (is_list(entry.key)) return entry.key != keys->list;
    const bool flat = is_number(entry.key) && entry.value->is_scalar();
    return flat && !keys->takes_named(entry.key);
  });
}

void set_fields(Entries& limit, const json::object& fields, std::vector<std::string>& mistakes) {
  // The algorithm says where numbers stand, so it comes first.
  if (const json::value* algorithm = fields.if_contains("algorithm")) {
    set_algorithm(limit, *algorithm);
  }
  for (const auto& [name, value] : fields) {
    const std::string key(name);
    if (key == "algorithm") continue;
    if (key == "mode") {
      set(limit, key, to_node(value));
    } else if (key == "tiers" && value.is_object()) {
      set_tiers(limit, *to_node(value));
    } else if (is_number(key)) {
      set_number(limit, key, to_node(value));
    } else {
      mistakes.push_back(key +
                         " cannot be changed here: there are algorithm, mode, tiers and the " +
                         "limit's numbers");
    }
  }
}

std::vector<std::string> key_of(const Node& entry) {
  std::vector<std::string> values;
  const Entry* key = entry.find("key");
  if (key == nullptr) return values;
  for (const NodePtr& item : key->value->items) values.push_back(item->text);
  return values;
}

// The fields of an override; those of a tier of the limit where it names one.
NodePtr override_node(Entries& limit, const OverrideChange& change,
                      std::vector<std::string>& mistakes) {
  Entries entries;
  const json::value* tier = change.fields.if_contains("tier");
  if (tier == nullptr) {
    entries = to_mapping(change.fields)->entries;
  } else {
    const json::string* name = tier->if_string();
    const Entry* tiers = find(limit, "tiers");
    const Entry* found =
        name == nullptr || tiers == nullptr ? nullptr : tiers->value->find(std::string_view(*name));
    if (found == nullptr || change.fields.size() != 1) {
      mistakes.push_back(
          "tier names no tier of this limit, or stands beside numbers, wants one of "
          "its tiers alone");
      return nullptr;
    }
    if (found->value->is_scalar()) {
      entries = to_mapping({{"unlimited", true}})->entries;
    } else {
      entries = found->value->entries;
    }
  }
  set(entries, "key", to_node(change.key));
  return mapping_of(std::move(entries));
}

void set_overrides(Entries& limit, const LimitChange& change, const Limit& written,
                   const Identity& identity, std::vector<std::string>& mistakes) {
  if (change.overrides.empty()) return;
  const Entry* had = find(limit, "overrides");
  auto list = std::make_shared<Node>();
  list->kind = Node::Kind::kSequence;
  std::vector<std::vector<std::string>> changed;
  for (const OverrideChange& one : change.overrides) {
    changed.push_back(canonical_key(one.key, written, identity));
  }
  std::sort(changed.begin(), changed.end());
  for (const NodePtr& item : had == nullptr ? std::vector<NodePtr>{} : had->value->items) {
    const auto key = canonical_key(key_of(*item), written, identity);
    if (!std::binary_search(changed.begin(), changed.end(), key)) list->items.push_back(item);
  }
  for (const OverrideChange& one : change.overrides) {
    if (NodePtr node = override_node(limit, one, mistakes)) list->items.push_back(std::move(node));
  }
  set(limit, "overrides", std::move(list));
}

void take_messages(Diagnostics& found, std::vector<std::string>& out) {
  for (const Diagnostic& one : found.take()) out.push_back(one.message);
}

}  // namespace

std::vector<std::string> canonical_key(std::vector<std::string> key, const Limit& limit,
                                       const Identity& identity) {
  if (key.size() != limit.key.size()) return key;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (auto value = override_value(limit.key[i], key[i], identity)) key[i] = *value;
  }
  return key;
}

ChangedLimit change_limit(const Policy& policy, const Node& tree, std::size_t place,
                          const LimitChange& change) {
  const Limit& written = policy.limits[place];
  ChangedLimit out;
  Entries entries = tree.find("limits")->value->items[place]->entries;
  // What no change touches is taken over as it was read: it may be long, or stand in files.
  std::erase_if(entries,
                [](const Entry& entry) { return entry.key == "match" || entry.key == "except"; });
  set_fields(entries, change.fields, out.mistakes);
  set_overrides(entries, change, written, policy.identity, out.mistakes);

  Source source("limit " + written.name, "");
  Diagnostics mistakes(source);
  Diagnostics doubts(source);
  Reader reader(source, mistakes, doubts);
  const Scope scope{policy.attributes, policy.identity};
  Limit limit;
  read_limit(reader, Entry{"limits", {}, mapping_of(std::move(entries))}, scope, limit);
  limit.match = written.match;
  limit.except = written.except;
  take_messages(mistakes, out.mistakes);
  if (out.mistakes.empty()) out.limit = std::move(limit);
  return out;
}

std::vector<std::string> change_policy(Policy& policy, const json::object& fields) {
  std::vector<std::string> out;
  Source source("policy", "");
  Diagnostics mistakes(source);
  Diagnostics doubts(source);
  Reader reader(source, mistakes, doubts);
  bool enabled = policy.enabled;
  Mode mode = policy.mode;
  for (const auto& [name, value] : fields) {
    const Entry entry{std::string(name), {}, to_node(value)};
    if (entry.key == "enabled") {
      read_bool(reader, entry, enabled);
    } else if (entry.key == "mode") {
      if (const int word = read_word(reader, entry, {"enforce", "shadow"}); word >= 0) {
        mode = word == 1 ? Mode::kShadow : Mode::kEnforce;
      }
    } else {
      out.push_back(entry.key + " cannot be changed here: there are enabled and mode");
    }
  }
  take_messages(mistakes, out);
  if (!out.empty()) return out;
  policy.enabled = enabled;
  policy.mode = mode;
  return out;
}

std::optional<Match> read_meant(const Policy& policy, const json::object& fields,
                                std::vector<std::string>& mistakes) {
  Source source("match", "");
  Diagnostics found(source);
  Diagnostics doubts(source);
  Reader reader(source, found, doubts);
  const Entry entry{"match", {}, to_mapping(fields)};
  auto match = read_match(reader, entry,
                          Scope{policy.attributes, policy.identity, /*may_read_files=*/false});
  const std::size_t before = mistakes.size();
  take_messages(found, mistakes);
  if (mistakes.size() > before) return std::nullopt;
  return match;
}

}  // namespace weir::policy
