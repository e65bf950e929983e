#include "engine/key.h"

#include <algorithm>
#include <charconv>

#include "base/decimal.h"
#include "base/hex.h"
#include "policy/path.h"

namespace weir::engine {
namespace {

using Kind = policy::Attribute::Kind;

void append_netstring(std::string& out, std::string_view bytes) {
  char size[kMaxDecimalDigits + 1];
  char* const end = write_decimal(size, bytes.size());
  *end = ':';
  out.append(size, end + 1);
  out += bytes;
  out += ',';
}

// A value as listeners would give it.
std::string normalised(Kind kind, const std::string& value, const policy::Paths& paths) {
  if (kind == Kind::kPath) {
    policy::PathBuffer buffer;
    const auto path = policy::normalise_path(value, paths, buffer);
    if (path) return std::string(path->match);
  }
  if (kind == Kind::kHost) {
    const auto host = policy::normalise_host(value);
    if (host && *host) return **host;
  }
  if (kind == Kind::kMethod && value == "HEAD") return "GET";
  return value;
}

std::optional<IpAddress> address_of(const std::string& value) {
  if (const auto address = IpAddress::parse(value)) return address;
  const auto prefix = IpPrefix::parse(value);
  if (!prefix) return std::nullopt;
  return prefix->network();
}

// Takes a netstring off the front. What is none gives nothing and ends the text.
std::string_view take_netstring(std::string_view& text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const auto digits = static_cast<std::size_t>(end - text.data());
  const bool whole = error == std::errc() && digits + 2 <= text.size() && text[digits] == ':' &&
                     size <= text.size() - digits - 2;
  const std::string_view bytes = whole ? text.substr(digits + 1, size) : std::string_view();
  text.remove_prefix(whole ? digits + size + 2 : text.size());
  return bytes;
}

}  // namespace

void append_printable(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      if (c == '\\') out += c;
      out += c;
    } else {
      out += "\\x";
      append_hex_byte(out, c);
    }
  }
}

std::string readable_key(std::string_view encoded) {
  std::string out;
  while (!encoded.empty()) {
    if (!out.empty()) out += ',';
    if (encoded[0] == '-') {
      out += '-';
      encoded.remove_prefix(1);
      continue;
    }
    append_printable(out, take_netstring(encoded));
    out += '=';
    append_printable(out, take_netstring(encoded));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> key_parts(std::string_view encoded) {
  std::vector<std::pair<std::string, std::string>> parts;
  while (!encoded.empty()) {
    auto& [name, value] = parts.emplace_back();
    if (encoded[0] == '-') {
      encoded.remove_prefix(1);
      continue;
    }
    name = take_netstring(encoded);
    value = take_netstring(encoded);
  }
  return parts;
}

KeySpec::KeySpec(const std::vector<policy::KeyPart>& parts, const policy::Policy& policy)
    : ipv4_prefix_(policy.identity.ipv4_prefix),
      ipv6_prefix_(policy.identity.ipv6_prefix),
      paths_(policy.paths) {
  for (const policy::KeyPart& written : parts) {
    Part& part = parts_.emplace_back();
    for (const policy::Attribute& attribute : written.alternatives) {
      Alternative& alternative = part.emplace_back(Alternative{attribute, {}});
      append_netstring(alternative.name, policy::to_string(attribute));
    }
  }
}

KeySpec::Outcome KeySpec::append(RequestView& request, bool share_missing, std::string& out) const {
  Outcome outcome = Outcome::kComplete;
  for (const Part& part : parts_) {
    if (append_part(part, request, out)) continue;
    if (!share_missing) return Outcome::kMissing;
    out += '-';
    outcome = Outcome::kShared;
  }
  return outcome;
}

bool KeySpec::append_part(const Part& part, RequestView& request, std::string& out) const {
  for (const Alternative& alternative : part) {
    if (alternative.attribute.kind == Kind::kIp) {
      if (!request.ip()) continue;
      out += alternative.name;
      append_address(*request.ip(), out);
      return true;
    }
    if (const auto value = request.find(alternative.attribute)) {
      out += alternative.name;
      append_netstring(out, *value);
      return true;
    }
  }
  return false;
}

void KeySpec::append_address(const IpAddress& address, std::string& out) const {
  // A netstring whose text comes first, since its length is one digit or two.
  char text[3 + IpAddress::kTextMax + 1];
  const IpAddress counted = address.masked(address.is_v4() ? ipv4_prefix_ : ipv6_prefix_);
  const std::size_t size = counted.write(text + 3);
  char* const begin = size < 10 ? text + 1 : text;
  *write_decimal(begin, size) = ':';
  text[3 + size] = ',';
  out.append(begin, text + 3 + size + 1);
}

std::vector<std::string> KeySpec::read_values(const std::vector<std::string>& values) const {
  if (values.size() != parts_.size()) return {};
  std::vector<std::string> keys = {""};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::string> longer;
    for (const std::string& value : read_value(parts_[i], values[i])) {
      for (const std::string& key : keys) longer.push_back(key + value);
    }
    keys = std::move(longer);
  }
  return keys;
}

std::vector<std::string> KeySpec::read_value(const Part& part, const std::string& value) const {
  const auto is_ip = [](const Alternative& one) { return one.attribute.kind == Kind::kIp; };
  const bool counts_addresses = std::any_of(part.begin(), part.end(), is_ip);
  const auto address = counts_addresses ? address_of(value) : std::nullopt;
  std::vector<std::string> readings;
  for (const Alternative& alternative : part) {
    if (is_ip(alternative) != address.has_value()) continue;
    std::string& reading = readings.emplace_back(alternative.name);
    if (address) {
      append_address(*address, reading);
    } else {
      append_netstring(reading, normalised(alternative.attribute.kind, value, paths_));
    }
  }
  return readings;
}

}  // namespace weir::engine
