// A request and its answer, as the small HTTP server hands them to a handler.
//
// THREADS: one loop.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "wire/http1/headers.h"

namespace weir::http {

// Views live until the handler returns.
struct Request {
  std::string_view method;
  std::string_view path;   // not decoded
  std::string_view query;  // without '?'
  http1::Headers headers;
  std::string_view body;  // whole
  IpAddress peer;
};

struct Response {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";  // static text
  std::string headers;  // further header lines, each ended by CRLF
  std::string body;

  // REQUIRES: neither holds CR, LF or NUL.
  void add_header(std::string_view name, std::string_view value);
};

// Fills the answer before it returns. Runs on the connection's loop; may not block or throw.
using Handler = std::function<void(const Request&, Response&)>;

}  // namespace weir::http
