#include "store/redis/url.h"

#include <charconv>
#include <optional>

#include "base/hex.h"

namespace weir::store::redis {
namespace {

constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::uint32_t kMaxDatabases = 65535;
constexpr std::size_t kMaxAddresses = 64;

Error wrong(std::string message) {
  return Error{ErrorCode::kInvalid, "store.url: " + std::move(message)};
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text, Number max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max) return std::nullopt;
  return static_cast<Number>(value);
}

// Where a '%' is not followed by two digits: none. A '+' is a plus, unlike in a form.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int byte = hex_byte(text, i + 1);
    if (byte < 0) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// Takes what stands before `end` off the front, and `end` with it; all where there is none.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

struct Scheme {
  std::string_view text;
  Topology topology;
  bool tls;
  bool unix_socket;
};

constexpr Scheme kSchemes[] = {
    {"redis://", Topology::kSingle, false, false},
    {"rediss://", Topology::kSingle, true, false},
    {"redis+cluster://", Topology::kCluster, false, false},
    {"rediss+cluster://", Topology::kCluster, true, false},
    {"redis+sentinel://", Topology::kSentinel, false, false},
    {"rediss+sentinel://", Topology::kSentinel, true, false},
    {"redis+unix://", Topology::kSingle, false, true},
};

const Scheme* scheme_of(std::string_view text) {
  for (const Scheme& scheme : kSchemes) {
    if (text.starts_with(scheme.text)) return &scheme;
  }
  return nullptr;
}

// Where the part with user and password ends: the last '@' before the path, so that a '@' somebody
// forgot to encode in a password stays in it.
std::size_t end_of_credentials(std::string_view rest) {
  const std::size_t at = rest.substr(0, rest.find_first_of("/?")).rfind('@');
  if (at != std::string_view::npos) return at;
  return std::string_view::npos;
}

std::optional<Error> read_credentials(std::string_view text, Url& url) {
  const std::string_view user = take_until(text, ':');
  const auto username = percent_decoded(user);
  const auto password = percent_decoded(text);
  if (!username || !password) {
    return wrong(
        "a '%' in the user or the password is not followed by two hexadecimal digits; "
        "write '%' as %25");
  }
  url.username = *username;
  url.password = *password;
  return std::nullopt;
}

std::optional<Error> read_address(std::string_view text, std::uint16_t port, Url& url) {
  Address address;
  address.port = port;
  std::string_view rest = text;
  if (text.starts_with('[')) {
    rest.remove_prefix(1);
    if (rest.find(']') == std::string_view::npos) {
      return wrong("an IPv6 address has no ']' after it");
    }
    address.host = take_until(rest, ']');
    if (!rest.empty() && !rest.starts_with(':')) return wrong("after ']' comes ':' and a port");
    if (!rest.empty()) rest.remove_prefix(1);
  } else {
    address.host = take_until(rest, ':');
  }
  if (address.host.empty()) return wrong("no host is named");
  if (text.ends_with(':') || !rest.empty()) {
    const auto number = whole_number<std::uint16_t>(rest, 65535);
    if (!number || *number == 0) {
      return wrong("the port of " + address.host + " is no number from 1 to 65535");
    }
    address.port = *number;
  }
  url.addresses.push_back(std::move(address));
  return std::nullopt;
}

std::optional<Error> read_database(std::string_view text, Url& url) {
  if (text.empty()) return std::nullopt;
  const auto number = whole_number<std::uint32_t>(text, kMaxDatabases);
  if (!number) return wrong("the database is no number from 0 to 65535");
  if (url.topology == Topology::kCluster && *number != 0) {
    return wrong("a cluster has database 0 only");
  }
  url.database = *number;
  return std::nullopt;
}

std::optional<Error> read_options(std::string_view text, bool unix_socket, Url& url) {
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    const std::string_view name = take_until(value, '=');
    if (name == "db" && unix_socket) {
      if (auto error = read_database(value, url)) return error;
    } else if (name == "sentinel_tls" && url.topology == Topology::kSentinel &&
               (value == "on" || value == "off")) {
      url.sentinel_tls = value == "on";
    } else {
      return wrong(
          "unknown option after '?'; there are db=NUMBER for redis+unix, and "
          "sentinel_tls=on|off for redis+sentinel");
    }
  }
  return std::nullopt;
}

std::optional<Error> read_hosts(std::string_view hosts, Url& url) {
  const std::uint16_t port = url.topology == Topology::kSentinel ? kSentinelPort : kRedisPort;
  if (hosts.empty()) return wrong("no host is named");
  while (!hosts.empty()) {
    if (url.addresses.size() == kMaxAddresses) return wrong("more than 64 hosts are named");
    if (auto error = read_address(take_until(hosts, ','), port, url)) return error;
  }
  if (url.topology == Topology::kSingle && url.addresses.size() > 1) {
    return wrong("several hosts are named; use redis+cluster:// or redis+sentinel://");
  }
  return std::nullopt;
}

std::optional<Error> read_path(std::string_view path, Url& url) {
  if (url.topology == Topology::kSentinel) {
    url.master = take_until(path, '/');
    if (url.master.empty()) {
      return wrong("the master's name is missing: redis+sentinel://host:26379/mymaster");
    }
  }
  return read_database(path, url);
}

}  // namespace

std::string Address::to_string() const {
  if (port == 0) return host;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

Result<Url> parse_url(std::string_view text) {
  const Scheme* scheme = scheme_of(text);
  if (scheme == nullptr) {
    return wrong(
        "starts with no known scheme; wants redis://, rediss://, redis+cluster://, "
        "redis+sentinel:// or redis+unix://");
  }
  Url url;
  url.topology = scheme->topology;
  url.tls = url.sentinel_tls = scheme->tls;
  std::string_view rest = text.substr(scheme->text.size());
  if (const std::size_t at = end_of_credentials(rest); at != std::string_view::npos) {
    if (auto error = read_credentials(rest.substr(0, at), url)) return *error;
    rest.remove_prefix(at + 1);
  }
  std::string_view options = rest;
  rest = take_until(options, '?');
  if (scheme->unix_socket) {
    if (!rest.starts_with('/')) return wrong("a socket's path begins with '/'");
    const auto path = percent_decoded(rest);
    if (!path) return wrong("a '%' in the path is not followed by two hexadecimal digits");
    url.addresses.push_back(Address{*path, 0});
  } else {
    const std::string_view hosts = take_until(rest, '/');
    if (auto error = read_hosts(hosts, url)) return *error;
    if (auto error = read_path(rest, url)) return *error;
  }
  if (auto error = read_options(options, scheme->unix_socket, url)) return *error;
  return url;
}

std::string masked(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return "***";
  const std::string_view rest = text.substr(scheme + 3);
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return std::string(text);
  const std::size_t colon = rest.substr(0, at).find(':');
  std::string out(text.substr(0, scheme + 3));
  if (colon != std::string_view::npos)
    out.append(rest.substr(0, colon)).append(":***");
  else
    out.append(rest.substr(0, at));
  return out.append(rest.substr(at));
}

}  // namespace weir::store::redis
