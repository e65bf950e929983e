#include "policy/address.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/ip.h"
#include "base/letters.h"
#include "policy/words.h"

namespace weir::policy {
namespace {

// What to say of one that is not right, and of one without a host.
struct Wants {
  std::string_view form;
  std::string_view host;
};

constexpr Wants kListen{"wants host:port, such as 127.0.0.1:8080 or [::1]:8080",
                        "has no host; for every interface write 0.0.0.0 or [::]"};
constexpr Wants kUpstream{"wants http://host:port",
                          "has no host; for this machine write 127.0.0.1 or [::1]"};
constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMaxPath = 107;  // what the kernel's address of a unix socket holds

ScalarError wrong(std::string_view text, std::string_view why, std::size_t offset = 0) {
  return ScalarError{"is " + quote(text) + ", " + std::string(why), offset};
}

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') {
    return false;
  }
  return std::all_of(label.begin(), label.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  // 1.2.3 and 01.2.3.4 are misspelt addresses, not names.
  const std::size_t last_dot = text.rfind('.');
  const std::string_view last = text.substr(last_dot == text.npos ? 0 : last_dot + 1);
  if (std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::uint32_t port = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

// host[:port] into its two halves; the port "" where there is none. False: brackets do not match.
bool split(std::string_view text, std::string_view& host, std::string_view& port) {
  port = {};
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return false;
    host = text.substr(1, close - 1);
    std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return false;
    if (!rest.empty()) port = rest.substr(1);
    return host.find(':') != host.npos;
  }
  const std::size_t colon = text.rfind(':');
  host = text.substr(0, colon);
  if (colon != text.npos) port = text.substr(colon + 1);
  return host.find(':') == host.npos;
}

// `text` with a port, or with `fallback` where it has none. Offsets count from `shift`.
Parsed<Address> parse_host_port(std::string_view whole, std::size_t shift,
                                std::optional<std::uint16_t> fallback, const Wants& wants) {
  const std::string_view text = whole.substr(shift);
  std::string_view host;
  std::string_view port_text;
  if (!split(text, host, port_text)) return wrong(whole, wants.form, shift);
  if (host.empty()) return wrong(whole, wants.host, shift);
  if (!is_host(host)) return wrong(whole, wants.form, shift);
  const bool has_port = text.size() > host.size() + (text[0] == '[' ? 2 : 0);
  const std::optional<std::uint16_t> port = has_port ? parse_port(port_text) : fallback;
  if (!port) {
    const std::size_t at = shift + (has_port ? text.size() - port_text.size() : text.size());
    return wrong(whole, has_port ? "whose port is not a number from 0 to 65535" : wants.form, at);
  }
  return Address{std::string(host), *port};
}

// "unix:///run/weir.sock", or with one slash as others write it.
Parsed<Address> parse_unix(std::string_view text) {
  std::string_view path = text.substr(kUnix.size());
  if (path.starts_with("//")) path.remove_prefix(2);
  if (path.size() < 2 || path[0] != '/' || path.find('\0') != path.npos) {
    return wrong(text, "wants an absolute path, such as unix:///run/weir.sock", kUnix.size());
  }
  if (path.size() > kMaxPath) {
    return wrong(text, "whose path has more than 107 bytes, as many as a unix socket's may have");
  }
  Address address;
  address.path = path;
  return address;
}

// WHY: two spellings of one server shall be seen to be one.
std::string normal_host(std::string_view host) {
  if (const auto address = IpAddress::parse(host)) return address->to_string();
  return lowered(host);
}

}  // namespace

bool is_host(std::string_view text) {
  return IpAddress::parse(text).has_value() || is_dns_name(text);
}

Parsed<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text);
  return parse_host_port(text, 0, std::nullopt, kListen);
}

Parsed<Upstream> parse_upstream(std::string_view text) {
  if (text.starts_with(kUnix)) {
    Parsed<Address> address = parse_unix(text);
    if (const auto* mistake = std::get_if<ScalarError>(&address)) return *mistake;
    return Upstream{std::get<Address>(std::move(address)), "localhost"};
  }
  const bool tls = text.starts_with("https://");
  const std::string_view scheme = tls ? "https://" : "http://";
  if (!text.starts_with(scheme)) return wrong(text, kUpstream.form);
  if (text.find('@') != text.npos) {
    return ScalarError{"holds a user, which an upstream does not take: http://host:port"};
  }
  std::string_view authority = text;
  if (authority.size() > scheme.size() && authority.ends_with('/')) authority.remove_suffix(1);
  const std::size_t beyond = authority.find_first_of("/?#", scheme.size());
  if (beyond != text.npos) {
    return wrong(text, "wants no path: requests keep the one that they came with", beyond);
  }
  const std::uint16_t port = tls ? 443 : 80;
  Parsed<Address> address = parse_host_port(authority, scheme.size(), port, kUpstream);
  if (const auto* mistake = std::get_if<ScalarError>(&address)) return *mistake;
  Address& reached = std::get<Address>(address);
  if (reached.port == 0) return wrong(text, "port 0 cannot be reached");
  reached.host = normal_host(reached.host);
  return Upstream{std::move(reached), std::string(authority.substr(scheme.size())), tls};
}

bool is_loopback(const Address& address) {
  if (address.is_unix()) return true;
  const auto ip = IpAddress::parse(address.host);
  if (!ip) return address.host == "localhost";
  if (ip->is_v4()) return ip->bytes()[0] == 127;
  return *ip == *IpAddress::parse("::1");
}

std::string Address::to_string() const {
  if (is_unix()) return "unix://" + path;
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Upstream::url() const {
  if (address.is_unix()) return address.to_string();
  return (tls ? "https://" : "http://") + authority;
}

}  // namespace weir::policy
