// An Engine in front of a Boost.Beast handler.
//
//   if (auto refusal = weir::beast::refuse(engine, request, peer_address)) return *refusal;
//
// THREADS: any.

#pragma once

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/engine.h"
#include "weir/middleware/guard.h"

namespace weir::beast {

// What a Beast request says: method, path, host, and its headers as header.NAME. The address of the
// client is the caller's to know: of the socket, or of a proxy that he trusts. Of a header that is
// repeated, the first line counts.
template <typename Body, typename Fields>
Result<Decision> check(Engine& engine, const boost::beast::http::request<Body, Fields>& request,
                       std::string_view client_ip, const std::vector<AttributeValue>& more = {}) {
  const auto view = [](auto text) { return std::string_view(text.data(), text.size()); };
  std::list<std::string> names;  // keeps the views alive
  std::vector<AttributeValue> attributes = more;
  attributes.push_back({"ip", client_ip});
  attributes.push_back({"method", view(request.method_string())});
  attributes.push_back({"path", view(request.target())});
  for (const auto& field : request) {
    std::string name = "header.";
    for (const char c : view(field.name_string())) {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    bool repeated = false;
    for (const std::string& known : names) repeated = repeated || known == name;
    if (repeated) continue;
    names.push_back(std::move(name));
    attributes.push_back({names.back(), view(field.value())});
    if (names.back() == "header.host") attributes.push_back({"host", view(field.value())});
  }
  return engine.check(attributes);
}

using weir::answer;

template <typename Fields>
void add_headers(Fields& message, const HttpAnswer& answer) {
  for (const auto& [name, value] : answer.headers) message.set(name, value);
}

// The refusal to send, or nothing where the request may pass.
template <typename Body, typename Fields>
std::optional<boost::beast::http::response<boost::beast::http::string_body>> refuse(
    Engine& engine, const boost::beast::http::request<Body, Fields>& request,
    std::string_view client_ip, const std::vector<AttributeValue>& more = {}) {
  const HttpAnswer said = answer(check(engine, request, client_ip, more));
  if (said.status == 200) return std::nullopt;
  boost::beast::http::response<boost::beast::http::string_body> response;
  response.version(request.version());
  response.result(static_cast<unsigned>(said.status));
  response.keep_alive(request.keep_alive());
  response.set(boost::beast::http::field::content_type, said.content_type);
  add_headers(response, said);
  response.body() = said.body;
  response.prepare_payload();
  return response;
}

}  // namespace weir::beast
