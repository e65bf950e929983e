#include "app/listen_options.h"

namespace weir::app {

bool has_listener(const policy::Policy& policy) {
  return policy.gateway || policy.api || policy.resp || policy.grpc || policy.admin;
}

net::ListenAddress listen_address(const policy::Address& address) {
  return {address.host, address.port, address.path};
}

net::TlsServerFiles tls_files(const policy::Tls& tls) {
  net::TlsServerFiles files;
  for (const policy::Certificate& one : tls.certificates) {
    files.certificates.push_back({one.cert, one.key});
  }
  files.client_ca = tls.client_ca;
  return files;
}

net::ListenOptions listen_options(std::string name, const policy::Listener& listener) {
  net::ListenOptions options;
  options.name = std::move(name);
  options.listen = listen_address(listener.listen);
  options.max_connections = listener.max_connections;
  options.max_connections_per_client = listener.max_connections_per_client;
  options.proxy_protocol = listener.proxy_protocol;
  if (listener.tls) options.tls = tls_files(*listener.tls);
  return options;
}

bool same_listener(const policy::Listener& now, const policy::Listener& next) {
  return now.listen.to_string() == next.listen.to_string() &&
         now.tls.has_value() == next.tls.has_value() && now.proxy_protocol == next.proxy_protocol &&
         now.max_connections == next.max_connections &&
         now.max_connections_per_client == next.max_connections_per_client;
}

std::vector<std::string> tls_files_of(const policy::Policy& policy) {
  std::vector<std::string> files;
  const auto add = [&](const auto& section) {
    if (!section || !section->tls) return;
    const std::vector<std::string> names = tls_files(*section->tls).names();
    files.insert(files.end(), names.begin(), names.end());
  };
  add(policy.gateway);
  add(policy.api);
  add(policy.resp);
  add(policy.grpc);
  add(policy.admin);
  if (policy.gateway) {
    const policy::ClientTls& upstream = policy.gateway->upstream_tls;
    for (const std::string& file : {upstream.ca, upstream.cert, upstream.key}) {
      if (!file.empty()) files.push_back(file);
    }
  }
  return files;
}

std::string describe(const policy::UpstreamGroup& group) {
  std::string text;
  for (const policy::Upstream& server : group.servers) {
    text += (text.empty() ? "" : ", ") + server.url();
  }
  return text;
}

std::string url_of(const net::Server& server, const std::string& scheme, const char* path) {
  const std::string address = server.address();
  if (address.starts_with("unix:")) return address;
  return scheme + (server.has_tls() ? "s" : "") + "://" + address + path;
}

}  // namespace weir::app
