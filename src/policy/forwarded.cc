#include "policy/forwarded.h"

#include <algorithm>

#include "base/trim.h"

namespace weir::policy {
namespace {

// The end of what stands before the next `separator` outside quotes; npos when quotes do not close.
std::size_t find_separator(std::string_view text, char separator) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (!quoted && i < text.size() && text[i] == separator) return i;
  }
  return quoted ? std::string_view::npos : text.size();
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(find_separator(text, separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool is_for(std::string_view name) {
  return name.size() == 3 && (name[0] | 0x20) == 'f' && (name[1] | 0x20) == 'o' &&
         (name[2] | 0x20) == 'r';
}

// The node in quotes or bare. No address needs a backslash, so none is read.
std::optional<IpAddress> parse_node(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return IpAddress::parse_with_port(value);
}

// One forwarded-element: name=value pairs joined by ';', of which exactly one is `for`.
Hop parse_element(std::string_view element) {
  Hop hop;
  bool found = false;
  while (!element.empty()) {
    const std::string_view pair = trim(take_until(element, ';'));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !is_for(pair.substr(0, equals))) continue;
    if (found) return Hop{};
    found = true;
    hop.address = parse_node(pair.substr(equals + 1));
  }
  return hop;
}

}  // namespace

std::optional<Hop> ForwardedForHops::next() {
  if (done_) return std::nullopt;
  const std::size_t comma = rest_.rfind(',');
  done_ = comma == std::string_view::npos;
  const std::string_view hop = done_ ? rest_ : rest_.substr(comma + 1);
  rest_ = done_ ? std::string_view() : rest_.substr(0, comma);
  return Hop{IpAddress::parse_with_port(trim(hop))};
}

ForwardedHops::ForwardedHops(std::string_view line) {
  bool more = true;
  while (more) {
    const std::size_t end = find_separator(line, ',');
    if (end == std::string_view::npos) {
      elements_[0] = {};
      seen_ = 1;
      return;
    }
    elements_[seen_++ % kMaxHops] = line.substr(0, end);
    more = end < line.size();
    if (more) line.remove_prefix(end + 1);
  }
}

std::optional<Hop> ForwardedHops::next() {
  if (given_ == std::min(seen_, kMaxHops)) return std::nullopt;
  ++given_;
  return parse_element(elements_[(seen_ - given_) % kMaxHops]);
}

}  // namespace weir::policy
