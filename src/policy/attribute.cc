#include "policy/attribute.h"

#include <algorithm>
#include <utility>

#include "base/letters.h"

namespace weir::policy {
namespace {

using Kind = Attribute::Kind;

constexpr std::pair<std::string_view, Kind> kPlain[] = {
    {"ip", Kind::kIp},         {"user", Kind::kUser},       {"tier", Kind::kTier},
    {"method", Kind::kMethod}, {"path", Kind::kPath},       {"host", Kind::kHost},
    {"domain", Kind::kDomain}, {"message", Kind::kMessage},
};

constexpr std::pair<std::string_view, Kind> kNamed[] = {
    {"header.", Kind::kHeader},
    {"cookie.", Kind::kCookie},
    {"query.", Kind::kQuery},
    {"message.", Kind::kMessagePointer},
};

bool is_token_char(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

// RFC 6901, without the empty pointer (the whole document is not one value).
bool is_pointer(std::string_view text) {
  if (text.empty() || text[0] != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

bool is_name_of(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kHeader:
    case Kind::kCookie:
      return is_token(name);
    case Kind::kMessagePointer:
      return is_pointer(name);
    default:
      return !name.empty();
  }
}

}  // namespace

std::optional<Attribute> parse_attribute(std::string_view text,
                                         const std::vector<std::string>& declared) {
  for (const auto& [word, kind] : kPlain) {
    if (text == word) return Attribute{kind, {}};
  }
  for (const auto& [prefix, kind] : kNamed) {
    if (text.substr(0, prefix.size()) != prefix) continue;
    const std::string_view name = text.substr(prefix.size());
    if (!is_name_of(kind, name)) return std::nullopt;
    return Attribute{kind, kind == Kind::kHeader ? lowered(name) : std::string(name)};
  }
  if (std::find(declared.begin(), declared.end(), text) == declared.end()) return std::nullopt;
  return Attribute{Kind::kDeclared, std::string(text)};
}

std::string to_string(const Attribute& attribute) {
  for (const auto& [word, kind] : kPlain) {
    if (attribute.kind == kind) return std::string(word);
  }
  for (const auto& [prefix, kind] : kNamed) {
    if (attribute.kind == kind) return std::string(prefix) + attribute.name;
  }
  return attribute.name;
}

}  // namespace weir::policy
