// UpstreamTls: the certificates and authorities in force towards `https://` upstreams, which a
// reload may replace. Connections that are open stay.
//
// THREADS: any.

#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

#include "net/tls_client.h"
#include "policy/policy.h"
#include "weir/result.h"

namespace weir::gateway {

class UpstreamTls {
 public:
  // Reads what the policy names; what it gives puts that in force. Nothing where no upstream speaks
  // TLS. ERRORS: kInvalid, naming the file.
  Result<std::function<void()>> prepare(const policy::Gateway& gateway) {
    if (!wanted(gateway)) return std::function<void()>([] {});
    const policy::ClientTls& files = gateway.upstream_tls;
    auto made =
        net::TlsClient::make({files.ca, files.cert, files.key, files.server_name}, "http/1.1");
    if (!made) return made.error();
    return std::function<void()>([this, next = std::move(*made)] {
      const std::lock_guard lock(mutex_);
      client_ = next;
    });
  }

  // REQUIRES: one that speaks TLS was prepared and put in force.
  std::shared_ptr<const net::TlsClient> current() const {
    const std::lock_guard lock(mutex_);
    return client_;
  }

 private:
  static bool wanted(const policy::Gateway& gateway) {
    const auto speaks_tls = [](const policy::UpstreamGroup& group) {
      return std::any_of(group.servers.begin(), group.servers.end(),
                         [](const policy::Upstream& one) { return one.tls; });
    };
    return speaks_tls(gateway.upstream) ||
           std::any_of(gateway.routes.begin(), gateway.routes.end(),
                       [&](const policy::Route& route) { return speaks_tls(route.upstream); });
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const net::TlsClient> client_;  // by mutex_
};

}  // namespace weir::gateway
