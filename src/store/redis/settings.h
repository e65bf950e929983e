// Settings: how to reach Redis, and how long to wait for it. One set for a process.
//
// THREADS: immutable once made.

#pragma once

#include <memory>
#include <string>

#include "store/redis/handshake.h"
#include "store/redis/node.h"
#include "store/redis/tls.h"
#include "store/redis/url.h"
#include "weir/time.h"

namespace weir::store::redis {

struct Settings {
  Url url;
  std::shared_ptr<Tls> tls;  // where the URL wants TLS
  Duration timeout = std::chrono::milliseconds(20);
  Duration connect_timeout = std::chrono::seconds(1);

  // Of a node that holds data.
  Node::Options node(const Address& address) const {
    Node::Options options;
    options.address = address;
    if (url.tls) options.tls = tls;
    options.handshake.credentials = {url.username, url.password};
    options.handshake.database = url.database;
    options.handshake.cluster = url.topology == Topology::kCluster;
    options.timeout = timeout;
    options.connect_timeout = connect_timeout;
    return options;
  }
  // Of a Sentinel. User and password of the URL are those of the data; Sentinels are asked without.
  Node::Options sentinel(const Address& address) const {
    Node::Options options;
    options.address = address;
    if (url.sentinel_tls) options.tls = tls;
    options.handshake.sentinel = true;
    options.timeout = std::chrono::milliseconds(500);
    options.connect_timeout = connect_timeout;
    return options;
  }
};

}  // namespace weir::store::redis
