#include "wire/http1/target.h"

#include <algorithm>

#include "base/letters.h"
#include "wire/http1/characters.h"

namespace weir::http1 {

namespace {

constexpr std::string_view kRoot = "/";
constexpr std::string_view kAsterisk = "*";

bool refuse(ParseError& error, std::string_view message) {
  error = {400, message};
  return false;
}

bool is_valid_port(std::string_view port) {
  if (port.size() > 5 || !all_are(port, kDigit)) return false;
  unsigned value = 0;
  for (const char c : port) value = value * 10 + static_cast<unsigned>(c - '0');
  return value <= 65535;
}

// The inside of [...]: what an address is made of. Whether it is one decides who needs it as one.
bool is_valid_literal(std::string_view literal) {
  if (literal.empty()) return false;
  for (const char c : literal) {
    if (!is(c, kHexDigit) && c != ':' && c != '.') return false;
  }
  return true;
}

bool has_bad_escape(std::string_view name) {
  for (std::size_t at = name.find('%'); at != std::string_view::npos; at = name.find('%', at + 3)) {
    if (at + 2 >= name.size() || !all_are(name.substr(at + 1, 2), kHexDigit)) return true;
  }
  return false;
}

void split_query(std::string_view rest, Target& out) {
  const std::size_t mark = rest.find('?');
  out.path = rest.substr(0, mark);
  out.has_query = mark != std::string_view::npos;
  out.query = out.has_query ? rest.substr(mark + 1) : std::string_view{};
}

bool read_absolute(std::string_view method, std::string_view target, Target& out,
                   ParseError& error) {
  const std::size_t colon = target.find("://");
  if (colon == std::string_view::npos) {
    return refuse(error, "request target must begin with a slash");
  }
  const std::string_view scheme = target.substr(0, colon);
  if (!equals_ignore_case(scheme, "http") && !equals_ignore_case(scheme, "https")) {
    return refuse(error, "scheme of the request target must be http or https");
  }
  const std::string_view rest = target.substr(colon + 3);
  const std::size_t end = rest.find_first_of("/?");
  out.form = TargetForm::kAbsolute;
  out.authority = rest.substr(0, end);
  if (!is_valid_host(out.authority)) {
    return refuse(error, "host of the request target is not a host");
  }
  split_query(end == std::string_view::npos ? std::string_view{} : rest.substr(end), out);
  if (out.path.empty()) out.path = method == "OPTIONS" && !out.has_query ? kAsterisk : kRoot;
  return true;
}

}  // namespace

bool read_target(std::string_view method, std::string_view target, Target& out, ParseError& error) {
  if (method == "CONNECT") {
    return refuse(error, "this is not a forward proxy: CONNECT is not served");
  }
  if (target.front() == '/') {
    out.form = TargetForm::kOrigin;
    split_query(target, out);
    return true;
  }
  if (target == "*") {
    if (method != "OPTIONS") return refuse(error, "target * belongs to OPTIONS only");
    out.form = TargetForm::kAsterisk;
    out.path = target;
    return true;
  }
  return read_absolute(method, target, out, error);
}

bool is_implied_path(std::string_view path) {
  return path.data() == kRoot.data() || path.data() == kAsterisk.data();
}

bool is_valid_host(std::string_view host) {
  const char* const begin = host.data();
  const char* const end = begin + host.size();
  const char* at = skip(begin, end, kPlainHostChar);
  if (at == end && at != begin) return true;  // as most are
  if (at != end && *at == '[') {
    if (at != begin) return false;
    at = std::find(at, end, ']');
    if (at == end || !is_valid_literal({begin + 1, at})) return false;
    ++at;
  } else {
    at = skip(at, end, kRegNameChar);
    if (at == begin || has_bad_escape({begin, at})) return false;
  }
  return at == end || (*at == ':' && is_valid_port({at + 1, end}));
}

}  // namespace weir::http1
