// Server: gRPC over HTTP/2, by prior knowledge or ALPN, for a few small methods.
//
// Everything a client can make it hold is bounded: messages by `max_message`, all unfinished
// messages of a connection together by four times that, headers, open calls, and frames that ask
// for nothing (PING, SETTINGS, RST_STREAM and such) by a budget; past it the connection is closed
// with ENHANCE_YOUR_CALM. Nothing is read while the peer does not read. Messages are not
// compressed; a compressed one is answered UNIMPLEMENTED.
//
// On drain a connection is told to go away twice (RFC 9113 section 6.8), so that no call that is
// already under way is lost, and ends after its last call; one that has yet to speak has a
// second to do so. One that has been silent for idle_timeout is told to go away as well.
//
// THREADS: as net::Server.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/server.h"
#include "serve/grpc/method.h"
#include "weir/result.h"

namespace weir::grpc {

struct Options {
  net::ListenOptions listener;
  // What callers show as `authorization: Bearer TOKEN`; null or empty: nothing.
  std::function<std::string()> token;
  std::uint32_t max_message = 1 << 20;
  std::uint32_t max_calls = 1024;              // of one connection at a time
  std::uint32_t max_header_bytes = 16 * 1024;  // names and values of one call
  std::uint32_t max_idle_frames = 1000;        // at once; 100 more each second, one with each call
  Duration idle_timeout = std::chrono::minutes(30);
  Duration request_timeout = std::chrono::seconds(15);  // first byte of a call to its last
};

// ERRORS: as net::Server::open. The loops, and what the methods name, outlive the server.
Result<std::unique_ptr<net::Server>> open(net::Loops& loops, Options options, Methods methods);

}  // namespace weir::grpc
