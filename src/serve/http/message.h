// A request and its answer, as the small HTTP server hands them to a handler.
//
// THREADS: one loop.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "net/loop.h"
#include "net/session.h"
#include "net/stream.h"
#include "weir/time.h"
#include "wire/http1/request.h"

namespace weir::http {

// Views live until the handler returns.
struct Request {
  std::string_view method;
  std::string_view path;   // not decoded
  std::string_view query;  // without '?'
  http1::Headers headers;
  std::string_view body;  // whole
  IpAddress peer;
  const http1::RequestHead* head = nullptr;  // all that was read of the head
  net::Loop* loop = nullptr;                 // the connection's
  // When its bytes were read: once for all that one read brought. Nothing where the server has no
  // clock.
  std::optional<Instant> at;
};

// Takes the connection over once the answer has been sent: makes a net::Session that adds itself to
// `sessions` and owns the stream. `rest` is what the client has already sent behind its request.
using Upgrade = std::function<void(net::Loop& loop, net::SessionSet& sessions,
                                   net::StreamPtr stream, std::string rest)>;

struct Response {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";  // static text
  std::string headers;  // further header lines, each ended by CRLF
  std::string body;
  // With status 101 and headers that say to what, or 200 and a body that goes on for as long as the
  // connection; `headers` are then all that are sent.
  Upgrade upgrade;

  // Makes it as new, keeping the memory of answers of a usual length.
  void clear();
  // REQUIRES: neither holds CR, LF or NUL.
  void add_header(std::string_view name, std::string_view value);
};

// Fills the answer, then runs `done`, once: before it returns or later on the connection's loop.
// The request's views are gone once it has returned; the response lives until `done`.
// Runs on the connection's loop; may not block or throw.
using Done = std::function<void()>;
using AsyncHandler = std::function<void(const Request&, Response&, Done done)>;

// Fills the answer before it returns.
using Handler = std::function<void(const Request&, Response&)>;

}  // namespace weir::http
