// An Engine in front of a cpp-httplib server.
//
//   weir::httplib::guard(server, engine);   // every request, by the address of its socket
//
// THREADS: any; the engine outlives the server.

#pragma once

#include <httplib.h>

#include <list>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir::httplib {

// What a cpp-httplib request says: ip (of the socket), method, path, host, and its headers as
// header.NAME. Of a header that is repeated, the first line counts.
inline Result<Decision> check(Engine& engine, const ::httplib::Request& request) {
  std::list<std::string> names;  // keeps the views alive
  std::vector<AttributeValue> attributes = {
      {"ip", request.remote_addr}, {"method", request.method}, {"path", request.target}};
  for (const auto& [field, value] : request.headers) {
    // What the server itself adds is no header of the client's.
    if (field == "REMOTE_ADDR" || field == "REMOTE_PORT" || field == "LOCAL_ADDR" ||
        field == "LOCAL_PORT") {
      continue;
    }
    std::string name = "header.";
    for (const char c : field) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    bool repeated = false;
    for (const std::string& known : names) repeated = repeated || known == name;
    if (repeated) continue;
    names.push_back(std::move(name));
    attributes.push_back({names.back(), value});
    if (names.back() == "header.host") attributes.push_back({"host", value});
  }
  return engine.check(attributes);
}

// True when the request was refused, and `response` says so; else `response` has the headers that
// tell the client how much it has left.
inline bool refuse(Engine& engine, const ::httplib::Request& request,
                   ::httplib::Response& response) {
  const Result<Decision> decision = check(engine, request);
  if (!decision) {
    response.status = 400;
    response.set_content(decision.error().message + "\n", "text/plain");
    return true;
  }
  const HttpAnswer answer = decision->http();
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (answer.status == 200) return false;
  response.status = answer.status;
  response.set_content(answer.body, answer.content_type);
  return true;
}

// Before every handler of the server.
inline void guard(::httplib::Server& server, Engine& engine) {
  server.set_pre_routing_handler(
      [&engine](const ::httplib::Request& request, ::httplib::Response& response) {
        return refuse(engine, request, response) ? ::httplib::Server::HandlerResponse::Handled
                                                 : ::httplib::Server::HandlerResponse::Unhandled;
      });
}

}  // namespace weir::httplib
