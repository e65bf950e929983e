#include "policy/pattern.h"

#include <re2/re2.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "policy/path.h"
#include "policy/value_list.h"

namespace weir::policy {
namespace {

constexpr std::int64_t kRegexMemory = 1 << 20;  // of one program; RE2 falls back to slower, linear
constexpr std::size_t kTextMax = 4096;          // of one alternative

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalid, std::move(message)};
}

re2::StringPiece piece(std::string_view text) {
  return re2::StringPiece(text.data(), text.size());
}

std::shared_ptr<const re2::RE2> compile(std::string_view text, bool case_sensitive) {
  re2::RE2::Options options;
  // WHY Latin-1: values are bytes; in UTF-8 mode `.` refuses a malformed one, and a client could
  // leave a limit by sending it.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  options.set_case_sensitive(case_sensitive);
  return std::make_shared<const re2::RE2>(piece(text), options);
}

Result<Pattern::Alternative> make_regex(std::string_view text) {
  Pattern::Alternative alternative;
  alternative.kind = Pattern::Kind::kRegex;
  alternative.text = std::string(text);
  alternative.regex = compile(text, true);
  if (!alternative.regex->ok()) {
    return invalid("regular expression " + alternative.text + " does not compile: " +
                   alternative.regex->error() + "; allowed is the syntax of RE2");
  }
  return alternative;
}

std::size_t find_in(std::string_view text, std::string_view part) {
  // WHY memmem: linear for any part; string_view::find is quadratic on hostile ones.
  const void* at = memmem(text.data(), text.size(), part.data(), part.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

bool matches_segment(std::string_view pattern, std::string_view segment) {
  if (pattern == "*") return !segment.empty();
  if (pattern.find('*') == std::string_view::npos) return pattern == segment;
  return matches_wildcard(pattern, segment);
}

bool matches_path(std::string_view pattern, std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  while (!pattern.empty()) {
    const std::string_view wanted = take_segment(pattern);
    if (wanted == "**") return true;
    if (path.empty() || !matches_segment(wanted, take_segment(path))) return false;
  }
  return path.empty();
}

// What is wrong with a path pattern; nullptr: nothing.
const char* path_mistake(std::string_view text) {
  if (text.empty() || text[0] != '/') {
    return "a path begins with '/': /** is any path, and a regular expression begins with '~'";
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return "a path ends before '?' and '#'; match the query by query.NAME";
  }
  while (!text.empty()) {
    const std::string_view segment = take_segment(text);
    if (segment.find("**") == std::string_view::npos) continue;
    if (segment != "**" || !text.empty()) {
      return "'**' is the rest of a path and so its last segment, alone: /a/**";
    }
  }
  return nullptr;
}

}  // namespace

std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // Each part between two stars is taken where it is found first: what follows gets all the rest.
  while ((star = pattern.find('*')) != std::string_view::npos) {
    const std::size_t at = find_in(text, pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + star);
    pattern.remove_prefix(star + 1);
  }
  return text.size() >= pattern.size() && text.substr(text.size() - pattern.size()) == pattern;
}

bool Pattern::Alternative::matches(std::string_view value) const {
  switch (kind) {
    case Kind::kExact:
      return value == form;
    case Kind::kWildcard:
      return matches_wildcard(form, value);
    case Kind::kPath:
      return matches_path(form, value);
    case Kind::kRegex:
      return re2::RE2::FullMatch(piece(value), *regex);
    case Kind::kCidr:
      return false;
  }
  return false;
}

Result<bool> Pattern::add_text(std::string_view text) {
  if (text.size() > kTextMax) return invalid("pattern is longer than 4096 bytes");
  if (!text.empty() && text[0] == '~') {
    auto regex = make_regex(text.substr(1));
    if (!regex) return regex.error();
    add(std::move(*regex));
    return true;
  }
  const bool wild = text.find('*') != std::string_view::npos;
  add({wild ? Kind::kWildcard : Kind::kExact, std::string(text), std::string(text), nullptr, {}});
  return true;
}

Result<bool> Pattern::add_path(std::string_view text) {
  if (text.substr(0, 1) == "~") return add_text(text);
  if (text.size() > kTextMax) return invalid("pattern is longer than 4096 bytes");
  if (const char* mistake = path_mistake(text)) {
    return invalid("path " + std::string(text) + ": " + mistake);
  }
  PathBuffer buffer;
  const auto normal = normalise_path(text, Paths{}, buffer);
  if (!normal) return normal.error();
  const bool wild = text.find('*') != std::string_view::npos;
  add({wild ? Kind::kPath : Kind::kExact,
       std::string(text),
       std::string(normal->match),
       nullptr,
       {}});
  return true;
}

Result<bool> Pattern::add_cidr(std::string_view text) {
  const auto prefix = IpPrefix::parse(text);
  if (!prefix) {
    return invalid(std::string(text) +
                   " is neither an address nor a block without host bits, such as 203.0.113.7 or "
                   "2001:db8::/32");
  }
  add({Kind::kCidr, std::string(text), std::string(text), nullptr, *prefix});
  return true;
}

void Pattern::add(Alternative alternative) {
  alternatives_.push_back(std::move(alternative));
}

bool Pattern::matches(std::string_view value) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Alternative& one) { return one.matches(value); }) ||
         (list_ && list_->matches(value));
}

bool Pattern::matches_ip(const IpAddress& address) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Alternative& one) {
                       return one.kind == Kind::kCidr && one.cidr.contains(address);
                     }) ||
         (list_ && list_->matches_ip(address));
}

Pattern::Alternative Pattern::folded(Alternative alternative) {
  if (alternative.kind == Kind::kRegex) {
    alternative.regex = compile(alternative.text, false);
    return alternative;
  }
  for (char& c : alternative.form) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return alternative;
}

Pattern prepare_host_pattern(const Pattern& pattern) {
  Pattern prepared;
  for (const Pattern::Alternative& written : pattern.alternatives()) {
    Pattern::Alternative alternative = Pattern::folded(written);
    const bool text = alternative.kind != Pattern::Kind::kRegex;
    if (text && alternative.form.size() > 1 && alternative.form.back() == '.') {
      alternative.form.pop_back();
    }
    prepared.add(std::move(alternative));
  }
  return prepared;
}

}  // namespace weir::policy
