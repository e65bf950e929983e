// Server: a small HTTP/1.1 server for the listeners that answer by themselves (api, admin, demo).
//
// Whole requests in, whole answers out, in order; all requests that one read brought are answered
// by one write. Everything a client can make it hold is bounded: head and body by their limits,
// answers not yet taken by `max_unsent`, silence by `idle_timeout`, a slow request by
// `request_timeout`.
//
// THREADS: as net::Server.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "net/server.h"
#include "serve/http/message.h"
#include "weir/result.h"
#include "wire/http1/parse.h"

namespace weir::http {

struct Options {
  net::ListenOptions listener;
  const Clock* clock = nullptr;  // of the Date field; null: none is sent
  http1::Limits head;
  std::uint32_t max_body = 1 << 20;       // larger is 413, told from Content-Length unread
  std::uint32_t max_unsent = 256 * 1024;  // past it no further request is read
  Duration idle_timeout = std::chrono::seconds(60);
  Duration request_timeout = std::chrono::seconds(15);  // first byte to last
  metrics::Counter unreadable;  // requests refused before the handler saw them
};

// ERRORS: as net::Server::open. The loops, and what `handler` names, outlive the server.
Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Handler handler);
Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, AsyncHandler handler);

}  // namespace weir::http
