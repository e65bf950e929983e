#include "serve/demo/handler.h"

#include "base/json.h"
#include "base/letters.h"
#include "serve/demo/echo_session.h"
#include "serve/http/problem.h"
#include "wire/http1/writer.h"
#include "wire/websocket/handshake.h"

namespace weir::demo {

namespace {

constexpr std::string_view kWebSocketPath = "/ws";

bool stands_before(const http1::Headers& headers, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (equals_ignore_case(headers[i].name, headers[index].name)) return true;
  }
  return false;
}

// All values of the name at `index`, as one list (RFC 9110 section 5.3).
std::string joined(const http1::Headers& headers, std::size_t index) {
  std::string value(headers[index].value);
  for (std::size_t i = index + 1; i < headers.size(); ++i) {
    if (!equals_ignore_case(headers[i].name, headers[index].name)) continue;
    value.append(", ");
    value.append(headers[i].value);
  }
  return value;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  append_json_string(out, name);
  out.push_back(':');
  append_json_string(out, value);
}

void append_headers(std::string& out, const http1::Headers& headers) {
  bool first = true;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (stands_before(headers, i)) continue;
    if (!first) out.push_back(',');
    first = false;
    append_member(out, lowered(headers[i].name), joined(headers, i));
  }
}

void describe(const http::Request& request, http::Response& response) {
  response.content_type = "application/json";
  std::string& out = response.body;
  out.push_back('{');
  append_member(out, "method", request.method);
  out.push_back(',');
  append_member(out, "path", request.path);
  out.push_back(',');
  append_member(out, "query", request.query);
  out.append(",\"headers\":{");
  append_headers(out, request.headers);
  out.append("},\"body_size\":");
  http1::append_number(out, request.body.size());
  out.append("}\n");
}

void answer_websocket(const http1::RequestHead& head, http::Response& response) {
  if (!websocket::is_handshake(head)) {
    response.add_header("Upgrade", "websocket");
    return http::set_problem(response, 426, "this path speaks WebSocket; connect with ws://");
  }
  const websocket::Handshake handshake = websocket::read_handshake(head);
  if (!handshake) {
    if (handshake.status == 426) response.add_header("Sec-WebSocket-Version", "13");
    return http::set_problem(response, handshake.status, handshake.message);
  }
  response.status = 101;
  websocket::append_handshake_headers(response.headers, handshake.key);
  response.upgrade = [](net::Loop& loop, net::SessionSet& sessions, net::StreamPtr stream,
                        std::string rest) {
    new EchoSession(loop, sessions, std::move(stream), std::move(rest));  // owns itself
  };
}

}  // namespace

void answer(const http::Request& request, http::Response& response) {
  if (request.path == kWebSocketPath) return answer_websocket(*request.head, response);
  describe(request, response);
}

}  // namespace weir::demo
