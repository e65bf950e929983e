#include "policy/match.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/path.h"
#include "policy/value_list.h"

namespace weir::policy {
namespace {

constexpr std::size_t kMaxConditions = 32;        // of one match
constexpr std::size_t kMaxAlternatives = 10'000;  // of one condition
constexpr std::size_t kMaxKeyParts = 8;
constexpr std::size_t kMaxMatches = 10'000;  // of one `except`, `exempt` or `block`

constexpr std::array<std::string_view, 8> kAttributeWords{"ip",   "user", "tier",   "method",
                                                          "path", "host", "domain", "message"};
constexpr std::array<std::string_view, 4> kAttributeKinds{"header", "cookie", "query", "message"};

// "unknown attribute 'heder.x', did you mean header.x?"
void refuse_attribute(Reader& reader, std::string_view text, Position at, const Scope& scope) {
  std::vector<std::string_view> candidates(kAttributeWords.begin(), kAttributeWords.end());
  candidates.insert(candidates.end(), scope.declared.begin(), scope.declared.end());
  std::string near(nearest_word(text, candidates));
  const std::size_t dot = text.find('.');
  if (near.empty() && dot != text.npos) {
    const std::string_view kind = nearest_word(text.substr(0, dot), kAttributeKinds);
    const std::string fixed = std::string(kind) + std::string(text.substr(dot));
    if (!kind.empty() && parse_attribute(fixed, scope.declared)) near = fixed;
  }
  reader.mistake(
      at, "unknown attribute " + quote(text) + (near.empty() ? "" : ", did you mean " + near + "?"),
      "known are ip, user, tier, method, path, host, domain, header.NAME, cookie.NAME, query.NAME, "
      "message, message./POINTER and what `attributes` declares");
}

Result<bool> add_alternative(const Attribute& attribute, const std::string& text,
                             Pattern& pattern) {
  switch (attribute.kind) {
    case Attribute::Kind::kIp:
      return pattern.add_cidr(text);
    case Attribute::Kind::kPath:
      return pattern.add_path(text);
    default:
      return pattern.add_text(text);
  }
}

// Methods are compared letter by letter; HTTP's own are upper case.
void check_method(Reader& reader, const std::string& text, Position at) {
  const bool lower =
      std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (lower && !text.starts_with('~')) {
    reader.doubt(at, "method " + quote(text) +
                         " never comes: methods are compared letter by "
                         "letter, and those of HTTP are upper case");
  }
}

// Hosts are compared without port and trailing dot, as normalise_host gives them.
void check_host(Reader& reader, const std::string& text, Position at) {
  constexpr std::string_view kLike =
      "write one such as shop.example.org, *.example.org, 203.0.113.7 or [2001:db8::1]";
  if (text.empty()) {
    reader.doubt(at, "host '' never comes: what names no host is not matched by one");
    return;
  }
  const bool wild = text.find('*') != std::string::npos;
  if (text.starts_with('~') || (wild && text.find_first_of("[]") != std::string::npos)) return;
  std::string probe = text;
  std::replace(probe.begin(), probe.end(), '*', 'x');
  const auto host = normalise_host(probe);
  if (!host) {
    reader.doubt(at, "host " + quote(text) + " never comes: it is none", std::string(kLike));
    return;
  }
  Pattern exact;
  exact.add({Pattern::Kind::kExact, probe, probe, nullptr, {}});
  if (*host && prepare_host_pattern(exact).matches(**host)) return;
  reader.doubt(at,
               "host " + quote(text) + " never comes: hosts are compared without port, and " +
                   "addresses in their shortest form",
               wild ? std::string(kLike) : "write " + quote(host->value_or("")));
}

void read_alternative(Reader& reader, const Entry& entry, const Attribute& attribute,
                      Pattern& pattern) {
  const std::string* text = read_scalar(reader, entry, "text, a wildcard or ~regex");
  if (text == nullptr) return;
  const Result<bool> added = add_alternative(attribute, *text, pattern);
  if (!added) {
    reader.mistake(entry.value->at, added.error().message);
  } else if (attribute.kind == Attribute::Kind::kMethod) {
    check_method(reader, *text, entry.value->at);
  } else if (attribute.kind == Attribute::Kind::kHost) {
    check_host(reader, *text, entry.value->at);
  }
}

constexpr std::array kListFields{
    Field<std::string>{{"file", "path", kRequired, "Lists the alternatives, one a line."},
                       [](Reader& r, const Entry& e, std::string& file) { read_path(r, e, file); }},
};

// `{ file: blocked.txt }`
void read_list(Reader& reader, const Entry& entry, const Attribute& attribute, bool may_read_files,
               Pattern& pattern) {
  std::string file;
  read_fields<std::string>(reader, entry, kListFields, file);
  if (file.empty()) return;
  using Kind = Attribute::Kind;
  if (!may_read_files || attribute.kind == Kind::kPath || attribute.kind == Kind::kHost) {
    reader.mistake(entry.value->at,
                   entry.key + " cannot be a list in a file here, write the alternatives out");
    return;
  }
  auto list = ValueList::read(file, attribute);
  if (list) return pattern.use_list(std::move(*list));
  reader.mistake(entry.value->at, entry.key + ": the file " + file + " " + list.error().message);
}

}  // namespace

void read_pattern(Reader& reader, const Entry& entry, const Attribute& attribute,
                  bool may_read_files, Pattern& pattern) {
  if (entry.value->kind == Node::Kind::kMapping) {
    return read_list(reader, entry, attribute, may_read_files, pattern);
  }
  if (entry.value->kind != Node::Kind::kSequence) {
    read_alternative(reader, entry, attribute, pattern);
    return;
  }
  const std::vector<Entry> items = read_items(reader, entry, "a list of alternatives");
  if (items.empty() || items.size() > kMaxAlternatives) {
    reader.mistake(entry.value->at, entry.key + " is a list of " + std::to_string(items.size()) +
                                        ", wants 1 to 10000 alternatives");
    return;
  }
  for (const Entry& item : items) read_alternative(reader, item, attribute, pattern);
}

std::optional<Attribute> read_attribute(Reader& reader, std::string_view text, Position at,
                                        const Scope& scope) {
  std::optional<Attribute> attribute = parse_attribute(text, scope.declared);
  if (!attribute) refuse_attribute(reader, text, at, scope);
  return attribute;
}

std::optional<Match> read_match(Reader& reader, const Entry& entry, const Scope& scope) {
  const Node* mapping = read_mapping(reader, entry);
  if (mapping == nullptr) return std::nullopt;
  if (mapping->entries.empty() || mapping->entries.size() > kMaxConditions) {
    reader.mistake(entry.value->at, entry.key + " names " +
                                        std::to_string(mapping->entries.size()) +
                                        " attributes, wants 1 to 32, such as { path: /login }");
    return std::nullopt;
  }
  Match out;
  for (const Entry& condition : mapping->entries) {
    const auto attribute = read_attribute(reader, condition.key, condition.at, scope);
    if (!attribute) continue;
    const auto same = [&](const Condition& other) { return other.attribute == *attribute; };
    if (std::any_of(out.conditions.begin(), out.conditions.end(), same)) {  // header.A, header.a
      reader.mistake(condition.at, "duplicate key " + quote(condition.key) +
                                       ", it is the same attribute as one above, keep one");
      continue;
    }
    Pattern pattern;
    read_pattern(reader, condition, *attribute, scope.may_read_files, pattern);
    out.conditions.push_back({*attribute, std::move(pattern)});
  }
  return out;
}

std::vector<Match> read_matches(Reader& reader, const Entry& entry, const Scope& scope) {
  std::vector<Match> out;
  const std::vector<Entry> items =
      read_items(reader, entry, "a list of matches, such as [{path: /health}]");
  if (items.size() > kMaxMatches) {
    reader.mistake(entry.at, entry.key + " has more than 10000 entries");
    return out;
  }
  for (const Entry& item : items) {
    std::optional<Match> match = read_match(reader, item, scope);
    if (match) out.push_back(std::move(*match));
  }
  return out;
}

std::optional<KeyPart> read_key_part(Reader& reader, std::string_view text, Position at,
                                     const Scope& scope) {
  KeyPart part;
  bool right = true;
  while (true) {
    const std::size_t bar = text.find('|');
    const auto attribute = read_attribute(reader, text.substr(0, bar), at, scope);
    if (!attribute) {
      right = false;
    } else if (std::find(part.alternatives.begin(), part.alternatives.end(), *attribute) !=
               part.alternatives.end()) {
      reader.mistake(at, "the attribute " + to_string(*attribute) + " stands twice, keep one");
      right = false;
    } else {
      part.alternatives.push_back(*attribute);
    }
    if (bar == text.npos) break;
    text.remove_prefix(bar + 1);
  }
  if (!right) return std::nullopt;
  return part;
}

std::vector<KeyPart> read_key(Reader& reader, const Entry& entry, const Scope& scope) {
  std::vector<KeyPart> out;
  const std::vector<Entry> items = read_items(reader, entry, "a list such as [ip] or [user|ip]");
  if (items.size() > kMaxKeyParts) {
    reader.mistake(entry.at, "key has " + std::to_string(items.size()) + " parts, wants up to 8");
    return out;
  }
  for (const Entry& item : items) {
    const std::string* text = read_scalar(reader, item, "the name of an attribute");
    if (text == nullptr) continue;
    std::optional<KeyPart> part = read_key_part(reader, *text, item.at, scope);
    if (part) out.push_back(std::move(*part));
  }
  return out;
}

void read_exempt(Reader& reader, const Entry& entry, Policy& out) {
  out.exempt = read_matches(reader, entry, Scope{out.attributes, out.identity});
}

void read_block(Reader& reader, const Entry& entry, Policy& out) {
  for (Match& match : read_matches(reader, entry, Scope{out.attributes, out.identity})) {
    out.block.push_back({std::move(match), std::nullopt, false});
  }
}

}  // namespace weir::policy
