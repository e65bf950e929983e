#include "app/named_files.h"

#include "app/listen_options.h"
#include "net/tls_server.h"
#include "serve/gateway/upstream_tls.h"
#include "store/redis/tls.h"
#include "store/redis/url.h"

namespace weir::app {
namespace {

// Nothing of an URL that is none: that is told elsewhere.
Result<bool> check_store_files(const policy::Store& store) {
  if (store.in_memory()) return true;
  const auto url = store::redis::parse_url(store.url);
  if (!url || !(url->tls || url->sentinel_tls)) return true;
  const auto tls = store::redis::Tls::make({store.ca, store.cert, store.key, store.server_name});
  if (!tls) return tls.error();
  return true;
}

}  // namespace

std::vector<std::string> check_tls_files(const policy::Policy& policy) {
  std::vector<std::string> wrong;
  const auto note = [&](const char* section, const Error& error) {
    wrong.push_back(std::string(section) + ": " + error.message);
  };
  const auto check_listener = [&](const char* name, const auto& section) {
    if (!section || !section->tls) return;
    const auto read = net::TlsServer::make(tls_files(*section->tls), "");
    if (!read) note(name, read.error());
  };
  if (const auto read = check_store_files(policy.store); !read) note("store", read.error());
  check_listener("gateway", policy.gateway);
  if (policy.gateway) {
    const auto read = gateway::UpstreamTls().prepare(*policy.gateway);
    if (!read) note("gateway", read.error());
  }
  check_listener("api", policy.api);
  check_listener("resp", policy.resp);
  check_listener("grpc", policy.grpc);
  check_listener("admin", policy.admin);
  return wrong;
}

}  // namespace weir::app
