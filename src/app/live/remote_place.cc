#include "app/live/remote_place.h"

#include <algorithm>
#include <utility>

namespace weir::app {
namespace {

constexpr std::uint16_t kEtcdPort = 2379;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error wrong(std::string_view what) {
  return {ErrorCode::kInvalid, "-c: " + std::string(what)};
}

// "ca=FILE&cert=FILE": files of TLS.
Result<store::redis::TlsFiles> read_files(std::string_view query) {
  store::redis::TlsFiles files;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = pair.substr(0, equals);
    const std::string value(pair.substr(std::min(equals + 1, pair.size())));
    if (name == "ca") {
      files.ca = value;
    } else if (name == "cert") {
      files.cert = value;
    } else if (name == "key") {
      files.key = value;
    } else if (name == "server_name") {
      files.server_name = value;
    } else {
      return wrong("unknown option after '?'; there are ca, cert, key and server_name");
    }
  }
  return files;
}

// What is left of the path, once its database (a number) or the Sentinels' name is taken off, is
// the key. `path` begins behind the '/'.
std::string split_path(std::string_view path, bool sentinel, std::string& key) {
  std::string kept;
  if (sentinel) {
    const std::string_view master = path.substr(0, path.find('/'));
    kept += '/' + std::string(master);
    path.remove_prefix(std::min(master.size() + 1, path.size()));
  }
  const std::string_view first = path.substr(0, path.find('/'));
  if (is_number(first) && first.size() < path.size()) {
    kept += '/' + std::string(first);
    path.remove_prefix(first.size() + 1);
  }
  key = path;
  return kept;
}

}  // namespace

Result<std::optional<RemotePlace>> parse_remote_place(std::string_view text) {
  const bool etcd = text.starts_with("etcd://") || text.starts_with("etcds://");
  if (!etcd && !text.starts_with("redis")) return std::optional<RemotePlace>();
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return std::optional<RemotePlace>();
  const std::string_view scheme = text.substr(0, scheme_end);
  std::string_view rest = text.substr(scheme_end + 3);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  const auto files = read_files(rest.substr(std::min(question + 1, rest.size())));
  if (!files) return files.error();
  rest = rest.substr(0, question);
  // A password may hold a '/': the path begins behind the last '@'.
  const std::size_t at = rest.rfind('@');
  const std::size_t slash = rest.find('/', at == std::string_view::npos ? 0 : at);
  if (slash == std::string_view::npos) {
    return wrong("no key is named; wants for example etcd://host:2379/weir/policy");
  }
  RemotePlace place;
  place.kind = etcd ? RemotePlace::Kind::kEtcd : RemotePlace::Kind::kRedis;
  std::string url = std::string(rest.substr(0, slash));
  if (etcd) {
    place.key = rest.substr(slash);
    // Redis' grammar of hosts, users and passwords serves for etcd.
    url = (scheme == "etcds" ? "rediss+cluster://" : "redis+cluster://") + url;
  } else {
    url = std::string(scheme) + "://" + url +
          split_path(rest.substr(slash + 1), scheme.ends_with("sentinel"), place.key);
  }
  auto parsed = store::redis::parse_url(url);
  if (!parsed) return wrong(parsed.error().message);
  place.url = std::move(*parsed);
  if (etcd) {
    constexpr std::uint16_t kRedisPort = 6379;
    const bool named = url.find(":6379") != std::string::npos;
    for (auto& address : place.url.addresses) {
      if (address.port == kRedisPort && !named) address.port = kEtcdPort;
    }
  }
  if (place.key.empty() || place.key == "/") {
    return wrong("no key is named; wants for example etcd://host:2379/weir/policy");
  }
  if (place.url.tls || place.url.sentinel_tls) {
    auto tls = store::redis::Tls::make(*files);
    if (!tls) return tls.error();
    place.tls = std::move(*tls);
  }
  place.shown = store::redis::masked(text.substr(0, text.find('?')));
  if (place.key.ends_with(".toml")) place.format = policy::Format::kToml;
  return std::optional<RemotePlace>(std::move(place));
}

}  // namespace weir::app
