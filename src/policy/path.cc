#include "policy/path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/hex.h"
#include "base/ip.h"
#include "base/letters.h"

namespace weir::policy {
namespace {

enum CharClass : std::uint8_t {
  kUnreserved = 1,  // ALPHA DIGIT - . _ ~
  kPathChar = 2,    // what else may stand in a segment: sub-delims : @
};

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (int c = '0'; c <= '9'; ++c) classes[c] = kUnreserved;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kUnreserved;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kUnreserved;
  for (const char c : {'-', '.', '_', '~'}) classes[static_cast<unsigned char>(c)] = kUnreserved;
  for (const char c : {'!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@'}) {
    classes[static_cast<unsigned char>(c)] = kPathChar;
  }
  return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

std::uint8_t class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}

void append_escaped(std::string& out, char byte) {
  out += '%';
  append_hex_byte(out, byte, kUpperHexDigits);
}

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalid, std::move(message)};
}

// What no option looks at, wherever it stands: all that may be in a segment but '.' and ';'.
constexpr std::array<bool, 256> kIndifferent = [] {
  std::array<bool, 256> indifferent{};
  for (std::size_t c = 0; c < 256; ++c) {
    indifferent[c] = kClasses[c] != 0 && c != '.' && c != ';';
  }
  return indifferent;
}();

// True for a path that every option leaves as it is, but for one trailing slash.
// REQUIRES: it begins with '/'.
bool is_plain(std::string_view path) {
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (kIndifferent[static_cast<unsigned char>(path[i])]) continue;
    if ((path[i] != '/' && path[i] != '.') || path[i - 1] == '/') return false;
  }
  return true;
}

// Decodes what need not be escaped, escapes what must be.
Result<bool> append_unescaped(std::string_view path, bool keep_encoded_slash, std::string& out) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c != '%') {
      if (c == '/' || class_of(c) != 0) {
        out += c;
      } else {
        append_escaped(out, c);
      }
      continue;
    }
    const int decoded = hex_byte(path, i + 1);
    if (decoded < 0) {
      return invalid("path holds a % without two hexadecimal digits after it; send %25 for a %");
    }
    const char byte = static_cast<char>(decoded);
    if (byte == '/' && !keep_encoded_slash) {
      return invalid("path holds %2F, which this gateway refuses (paths.encoded_slash)");
    }
    if (class_of(byte) == kUnreserved) {
      out += byte;
    } else {
      append_escaped(out, static_cast<unsigned char>(byte));
    }
    i += 2;
  }
  return true;
}

std::string_view without_params(std::string_view segment) {
  return segment.substr(0, segment.find(';'));
}

// Puts `path`, which begins with '/', into `out` without dot segments and, if asked, without empty
// segments and ;params.
struct SegmentRules {
  bool merge_slashes;
  bool ignore_params;  // "..;x" is a dot segment
  bool cut_params;
};

void append_segments(std::string_view path, const SegmentRules& rules, std::string& out) {
  bool open = false;  // the path so far ends in a slash that no segment follows yet
  while (!path.empty()) {
    path.remove_prefix(1);  // '/'
    const std::string_view whole = path.substr(0, path.find('/'));
    path.remove_prefix(whole.size());
    const std::string_view bare = without_params(whole);
    const std::string_view name = rules.ignore_params ? bare : whole;
    const std::string_view kept = rules.cut_params ? bare : whole;
    open = false;
    if (name == "." || name == "..") {
      if (name == "..") out.resize(out.empty() ? 0 : out.rfind('/'));
      open = true;
    } else if (kept.empty() && rules.merge_slashes) {
      open = true;
    } else {
      out += '/';
      out += kept;
    }
  }
  if (open || out.empty()) out += '/';
}

std::string_view without_trailing_slash(std::string_view path) {
  if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

// Folds letters, but not the digits of escapes.
void fold_path(std::string& path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      i += 2;
    } else {
      path[i] = to_lower(path[i]);
    }
  }
}

std::string_view match_form(std::string_view upstream, const Paths& options, std::string& buffer) {
  const bool cut = options.ignore_params && upstream.find(';') != std::string_view::npos;
  if (cut || options.fold_case) {
    buffer.clear();
    append_segments(upstream, {options.merge_slashes, options.ignore_params, cut}, buffer);
    if (options.fold_case) fold_path(buffer);
    upstream = buffer;
  }
  return options.ignore_trailing_slash ? without_trailing_slash(upstream) : upstream;
}

bool is_host_char(char c) {
  constexpr std::string_view kOthers = "!$&'()*+,;=%";
  return class_of(c) == kUnreserved || kOthers.find(c) != std::string_view::npos;
}

bool is_port(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error invalid_host() {
  return invalid("host is not a name or address with an optional port");
}

Result<std::optional<std::string>> normalise_literal(std::string_view host) {
  const std::size_t close = host.find(']');
  if (close == std::string_view::npos) return invalid_host();
  const std::string_view rest = host.substr(close + 1);
  if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return invalid_host();
  const std::string_view inner = host.substr(1, close - 1);
  if (inner.find(':') == std::string_view::npos) return invalid_host();
  const auto address = IpAddress::parse(inner);
  if (!address) return invalid_host();
  // WHY brackets stay around IPv6 only: a mapped address is the IPv4 address.
  if (address->is_v4()) return std::optional(address->to_string());
  return std::optional('[' + address->to_string() + ']');
}

}  // namespace

Result<Target> split_target(std::string_view target) {
  if (target.find('#') != std::string_view::npos) {
    return invalid("request target holds a fragment; leave out '#' and what follows");
  }
  Target parts;
  if (!target.empty() && target[0] != '/' && target != "*") {
    const std::size_t scheme = target.find("://");
    if (scheme == 0 || scheme == std::string_view::npos || target.find_first_of("/?") < scheme) {
      return invalid("request target is neither a path, nor http://host/path, nor *");
    }
    target.remove_prefix(scheme + 3);
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    parts.authority = target.substr(0, end);
    target.remove_prefix(end);
  } else if (target.empty()) {
    return invalid("request target is empty");
  }
  const std::size_t question = target.find('?');
  parts.path = target.substr(0, question);
  if (question != std::string_view::npos) parts.query = target.substr(question + 1);
  if (parts.path.empty()) parts.path = "/";
  return parts;
}

Result<NormalPath> normalise_path(std::string_view path, const Paths& options, PathBuffer& buffer) {
  if (path == "*") return NormalPath{path, path};
  if (path.empty() || path[0] != '/') return invalid("path does not begin with '/'");
  if (is_plain(path) && !options.fold_case) {
    return NormalPath{path, options.ignore_trailing_slash ? without_trailing_slash(path) : path};
  }
  buffer.match.clear();
  auto unescaped = append_unescaped(path, options.keep_encoded_slash, buffer.match);
  if (!unescaped) return unescaped.error();
  buffer.upstream.clear();
  append_segments(buffer.match, {options.merge_slashes, options.ignore_params, false},
                  buffer.upstream);
  return NormalPath{buffer.upstream, match_form(buffer.upstream, options, buffer.match)};
}

std::optional<std::string> with_slashes_decoded(std::string_view match, const Paths& options) {
  if (match.find("%2F") == std::string_view::npos) return std::nullopt;
  std::string decoded;
  for (std::size_t i = 0; i < match.size(); ++i) {
    const bool slash = match.substr(i, 3) == "%2F";
    decoded += slash ? '/' : match[i];
    if (slash) i += 2;
  }
  std::string normal;
  append_segments(decoded, {options.merge_slashes, options.ignore_params, options.ignore_params},
                  normal);
  if (options.ignore_trailing_slash) normal.resize(without_trailing_slash(normal).size());
  return normal;
}

Pattern prepare_path_pattern(const Pattern& written, const Paths& options) {
  Pattern prepared;
  Paths keep = options;
  keep.keep_encoded_slash = true;
  PathBuffer buffer;
  for (Pattern::Alternative alternative : written.alternatives()) {
    if (alternative.kind == Pattern::Kind::kRegex) {
      if (options.fold_case) alternative = Pattern::folded(alternative);
    } else if (auto normal = normalise_path(alternative.text, keep, buffer)) {
      alternative.form = normal->match;
    }
    prepared.add(std::move(alternative));
  }
  return prepared;
}

Condition prepare(const Condition& written, const Paths& paths) {
  Condition prepared = written;
  if (written.attribute.kind == Attribute::Kind::kPath) {
    prepared.pattern = prepare_path_pattern(written.pattern, paths);
  }
  if (written.attribute.kind == Attribute::Kind::kHost) {
    prepared.pattern = prepare_host_pattern(written.pattern);
  }
  return prepared;
}

Match prepare(const Match& written, const Paths& paths) {
  Match prepared;
  for (const Condition& condition : written.conditions) {
    prepared.conditions.push_back(prepare(condition, paths));
  }
  return prepared;
}

Result<std::optional<std::string>> normalise_host(std::string_view host) {
  if (host.empty()) return std::optional<std::string>();
  if (host[0] == '[') return normalise_literal(host);
  const std::size_t colon = host.find(':');
  if (colon != std::string_view::npos && !is_port(host.substr(colon + 1))) return invalid_host();
  std::string_view name = host.substr(0, colon);
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  if (name.empty() || name.back() == '.') return invalid_host();
  if (!std::all_of(name.begin(), name.end(), is_host_char)) return invalid_host();
  return std::optional(lowered(name));
}

}  // namespace weir::policy
