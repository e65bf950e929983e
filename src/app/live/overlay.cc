#include "app/live/overlay.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/json.h"
#include "policy/change.h"

namespace weir::app::overlay {
namespace {

namespace json = boost::json;

using Named = std::pair<const Name*, const Entry*>;

std::vector<std::string> key_of(const Name& override_name) {
  return {override_name.begin() + 2, override_name.end()};
}

// All that one limit's entries change.
struct LimitEntries {
  const Entry* fields = nullptr;
  std::vector<Named> overrides;

  policy::LimitChange change() const {
    policy::LimitChange out;
    if (fields != nullptr) out.fields = fields->set;
    for (const auto& [name, entry] : overrides) {
      out.overrides.push_back({key_of(*name), entry->set});
    }
    return out;
  }
  std::size_t size() const { return overrides.size() + (fields == nullptr ? 0 : 1); }
};

constexpr std::string_view kHidden = "...";

bool hides_key(const Name& name) {
  return name[0] == "override" || name[0] == "ban";
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "; ") + line;
  return out;
}

// What is set aside, and why. WHY not why where its key is not told: a mistake may quote it.
std::string not_fitting(const Name& name, const std::vector<std::string>& mistakes,
                        policy::KeyForm keys) {
  const bool quotes = keys != policy::KeyForm::kPlain && hides_key(name);
  return told(name, keys) + ": " +
         (quotes ? "it does not fit the policy in force" : joined(mistakes));
}

// Of those that are for one key the newest: they are kept under several spellings of it.
std::vector<Named> newest_of_each_key(const policy::Policy& base, std::size_t place,
                                      const std::vector<Named>& overrides,
                                      std::vector<std::string>& set_aside) {
  std::map<std::vector<std::string>, Named> by_key;
  for (Named one : overrides) {
    auto key = policy::canonical_key(key_of(*one.first), base.limits[place], base.identity);
    const auto [held, first] = by_key.try_emplace(std::move(key), one);
    if (first) continue;
    if (one.second->at_ns > held->second.second->at_ns) std::swap(one, held->second);
    set_aside.push_back(
        not_fitting(*one.first, {"a newer change is for the same key"}, base.metrics.keys));
  }
  std::vector<Named> newest;
  for (const auto& [key, one] : by_key) newest.push_back(one);
  return newest;
}

// Those of them that fit by themselves, and are not for one key, where not all do together.
LimitEntries keep_fitting(const policy::Policy& base, const policy::Node& tree, std::size_t place,
                          const LimitEntries& all, std::vector<std::string>& set_aside) {
  LimitEntries kept;
  const auto fits = [&](const LimitEntries& some, const Name& name) {
    const auto changed = policy::change_limit(base, tree, place, some.change());
    if (!changed.limit) {
      set_aside.push_back(not_fitting(name, changed.mistakes, base.metrics.keys));
    }
    return changed.limit.has_value();
  };
  if (all.fields != nullptr) {
    LimitEntries alone;
    alone.fields = all.fields;
    if (fits(alone, {"limit", base.limits[place].name})) kept.fields = all.fields;
  }
  for (const auto& one : all.overrides) {
    LimitEntries with;
    with.fields = kept.fields;
    with.overrides = {one};
    if (fits(with, *one.first)) kept.overrides.push_back(one);
  }
  kept.overrides = newest_of_each_key(base, place, kept.overrides, set_aside);
  return kept;
}

auto find_limit(const policy::Policy& base, const std::string& name) {
  return std::find_if(base.limits.begin(), base.limits.end(),
                      [&](const policy::Limit& one) { return one.name == name; });
}

void apply_limit(const policy::Policy& base, const policy::Node& tree, std::size_t place,
                 const LimitEntries& entries, Applied& out) {
  LimitEntries used = entries;
  auto changed = policy::change_limit(base, tree, place, used.change());
  if (!changed.limit) {
    used = keep_fitting(base, tree, place, entries, out.set_aside);
    changed = policy::change_limit(base, tree, place, used.change());
  }
  if (!changed.limit) {
    out.set_aside.push_back("limit " + base.limits[place].name + ": " + joined(changed.mistakes));
    return;
  }
  out.policy.limits[place] = std::move(*changed.limit);
  out.in_force += used.size();
}

void apply_ban(const policy::Policy& base, const Name& name, const Entry& entry, Applied& out) {
  std::vector<std::string> mistakes;
  auto match = policy::read_meant(base, entry.set, mistakes);
  if (!match) {
    out.set_aside.push_back(not_fitting(name, mistakes, base.metrics.keys));
    return;
  }
  out.policy.block.push_back({std::move(*match), entry.until_ns, /*ban=*/true});
  ++out.in_force;
}

void apply_policy(const Name& name, const Entry& entry, Applied& out) {
  const auto mistakes = policy::change_policy(out.policy, entry.set);
  if (mistakes.empty()) {
    ++out.in_force;
  } else {
    out.set_aside.push_back(not_fitting(name, mistakes, out.policy.metrics.keys));
  }
}

}  // namespace

Applied apply(const policy::Policy& base, const policy::Node& tree, const Entries& entries,
              std::int64_t now_ns) {
  Applied out{base, {}, 0};
  std::map<std::string, LimitEntries> limits;
  for (const auto& [name, entry] : entries) {
    if (!entry.holds(now_ns)) continue;
    if (name[0] == "policy") apply_policy(name, entry, out);
    if (name[0] == "ban") apply_ban(base, name, entry, out);
    if (name[0] == "limit") limits[name[1]].fields = &entry;
    if (name[0] == "override") limits[name[1]].overrides.emplace_back(&name, &entry);
  }
  for (std::size_t i = 0; i < base.limits.size() && !limits.empty(); ++i) {
    const auto found = limits.find(base.limits[i].name);
    if (found == limits.end()) continue;
    apply_limit(base, tree, i, found->second, out);
    limits.erase(found);
  }
  for (const auto& [limit, unused] : limits) {
    out.set_aside.push_back("the policy has no limit " + limit + " any more");
  }
  return out;
}

Name target(const policy::Policy& base, const Entries& entries, const Name& name) {
  if (name[0] != "override" || entries.contains(name)) return name;
  const auto limit = find_limit(base, name[1]);
  if (limit == base.limits.end()) return name;
  Name counted{name[0], name[1]};
  for (std::string& value : policy::canonical_key(key_of(name), *limit, base.identity)) {
    counted.push_back(std::move(value));
  }
  return counted;
}

Result<std::vector<std::string>> check(const policy::Policy& base, const policy::Node& tree,
                                       const Entries& others, const Name& name,
                                       const Entry& entry) {
  if (name[0] == "policy") {
    policy::Policy changed = base;
    return policy::change_policy(changed, entry.set);
  }
  std::vector<std::string> mistakes;
  if (name[0] == "ban") {
    policy::read_meant(base, entry.set, mistakes);
    return mistakes;
  }
  const auto limit = find_limit(base, name[1]);
  if (limit == base.limits.end()) {
    return Error{ErrorCode::kNotFound, "there is no limit " + name[1] + " in the policy"};
  }
  LimitEntries entries;
  const auto fields = others.find({"limit", name[1]});
  if (fields != others.end()) entries.fields = &fields->second;
  if (name[0] == "limit") entries.fields = &entry;
  if (name[0] == "override") entries.overrides = {{&name, &entry}};
  const auto place = static_cast<std::size_t>(limit - base.limits.begin());
  return policy::change_limit(base, tree, place, entries.change()).mistakes;
}

std::string to_text(const Name& name) {
  json::array parts;
  for (const std::string& part : name) parts.emplace_back(part);
  return json::serialize(parts);
}

std::string to_text(const Entry& entry) {
  json::object out;
  out["set"] = entry.set;
  out["who"] = entry.who;
  out["at_ns"] = entry.at_ns;
  if (entry.until_ns) out["until_ns"] = *entry.until_ns;
  return json::serialize(out);
}

std::string told(const Name& name, policy::KeyForm keys) {
  if (keys == policy::KeyForm::kPlain || !hides_key(name)) return to_text(name);
  Name hidden = name;
  const std::size_t secret = name[0] == "ban" ? 1 : 2;
  std::fill(hidden.begin() + static_cast<std::ptrdiff_t>(secret), hidden.end(), kHidden);
  return to_text(hidden);
}

std::string told(const Name& name, const Entry& entry, policy::KeyForm keys) {
  if (keys == policy::KeyForm::kPlain || name[0] != "ban") return to_text(entry);
  Entry hidden = entry;
  for (auto& [attribute, value] : hidden.set) value = kHidden;
  return to_text(hidden);
}

std::optional<Name> name_of(std::string_view text) {
  const auto value = parse_json(text);
  const json::array* parts = value ? value->if_array() : nullptr;
  if (parts == nullptr || parts->empty()) return std::nullopt;
  Name name;
  for (const json::value& part : *parts) {
    if (!part.is_string()) return std::nullopt;
    name.emplace_back(std::string_view(part.get_string()));
  }
  const std::string& kind = name[0];
  const bool known = (kind == "policy" && name.size() == 1) ||
                     ((kind == "limit" || kind == "ban") && name.size() == 2) ||
                     (kind == "override" && name.size() > 2);
  return known ? std::optional(std::move(name)) : std::nullopt;
}

std::optional<Entry> entry_of(std::string_view text) {
  const auto value = parse_json(text);
  const json::object* fields = value ? value->if_object() : nullptr;
  if (fields == nullptr) return std::nullopt;
  const json::value* set = fields->if_contains("set");
  if (set == nullptr || !set->is_object()) return std::nullopt;
  Entry entry;
  entry.set = set->get_object();
  const json::value* who = fields->if_contains("who");
  if (who != nullptr && who->is_string()) entry.who = std::string_view(who->get_string());
  const json::value* at = fields->if_contains("at_ns");
  if (at != nullptr && at->is_int64()) entry.at_ns = at->get_int64();
  const json::value* until = fields->if_contains("until_ns");
  if (until != nullptr && until->is_int64()) entry.until_ns = until->get_int64();
  return entry;
}

}  // namespace weir::app::overlay
