// The demo service: something to put weir in front of.
//
// A WebSocket handshake on /ws gets its messages echoed; any other request is answered with JSON
// that says what arrived: method, path, query, headers, size of the body. Bodies and messages are
// bounded (1 MiB each).
//
// THREADS: as net::Server.

#pragma once

#include <memory>

#include "net/server.h"
#include "weir/result.h"

namespace weir::demo {

// ERRORS: as net::Server::open. The loops outlive the server.
Result<std::unique_ptr<net::Server>> open(net::Loops& loops, net::ListenAddress listen);

}  // namespace weir::demo
