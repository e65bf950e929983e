// One limit by its name: take, refund, look at a key, reset a key.

#include <utility>

#include "engine/compiled_policy.h"
#include "serve/api/api.h"
#include "serve/api/check_request.h"
#include "serve/http/problem.h"
#include "wire/http1/query.h"

namespace weir::api {
namespace {

using Outcome = store::Correction::Outcome;

// A limit that does not exist, or values that are no key of it.
void refuse_key(const Api& api, const Error& error, http::Response& response,
                const http::Done& done) {
  if (error.code == ErrorCode::kNotFound) return api.refuse(response, error, done);
  api.refuse(response, BadField{"key", error.message}, done);
}

void take(const Api& api, std::string_view name, const KeyRequest& key, http::Response& response,
          const http::Done& done) {
  const auto started = api.engine().take(name, key.key, api.now(), key.cost,
                                         [&api, &response, done](const engine::Decision& decision) {
                                           api.answer(decision, response);
                                           done();
                                         });
  if (!started) refuse_key(api, started.error(), response, done);
}

// "key=user-42&key=free": the values of the key in their order. Anything else is a mistake.
std::optional<BadField> read_query(std::string_view query, KeyRequest& out) {
  out.cost = 0;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (!pair.starts_with("key=")) return BadField{"query", "takes key=VALUE for each of the key"};
    http1::append_decoded(out.key.emplace_back(), pair.substr(4));
  }
  return std::nullopt;
}

void not_allowed(const Api& api, http::Response& response, std::string_view methods,
                 const http::Done& done) {
  response.add_header("Allow", methods);
  api.refuse(response, 405, "this method is not answered here", {}, done);
}

// GET looks, DELETE resets.
void keys(const Api& api, std::string_view name, const http::Request& request,
          http::Response& response, const http::Done& done) {
  KeyRequest key;
  if (const auto bad = read_query(request.query, key)) return api.refuse(response, *bad, done);
  if (request.method == "GET") return take(api, name, key, response, done);
  if (request.method != "DELETE") return not_allowed(api, response, "GET, DELETE", done);
  const auto reset = api.engine().reset(name, key.key, api.now(),
                                        [&api, &response, done](const store::Correction& made) {
                                          if (made.outcome == Outcome::kUnknown) {
                                            return api.refuse_unknown(response, "ask again", done);
                                          }
                                          response.content_type = "application/json";
                                          response.body = "{\"reset\":true}\n";
                                          done();
                                        });
  if (!reset) refuse_key(api, reset.error(), response, done);
}

// Gives back, and then tells what is left.
void refund(const Api& api, std::string_view name, KeyRequest key, http::Response& response,
            const http::Done& done) {
  const std::uint64_t cost = std::exchange(key.cost, 0);
  const auto refunded = api.engine().refund(
      name, key.key, api.now(), cost,
      [&api, name = std::string(name), key, &response, done](const store::Correction& made) {
        if (made.outcome != Outcome::kUnknown) return take(api, name, key, response, done);
        api.refuse_unknown(response, "look at the key before you ask again", done);
      });
  if (!refunded) refuse_key(api, refunded.error(), response, done);
}

}  // namespace

void limit_by_name(const Api& api, std::string_view rest, const http::Request& request,
                   http::Response& response, http::Done done) {
  const std::size_t slash = rest.find('/');
  const std::string_view name = rest.substr(0, slash);
  const std::string_view verb =
      slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  if (verb == "keys") return keys(api, name, request, response, done);
  if (verb != "take" && verb != "refund") {
    return api.refuse(response, 404, "a limit has take, refund and keys", {}, done);
  }
  if (request.method != "POST") return not_allowed(api, response, "POST", done);
  KeyRequest key;
  if (const auto bad = read_key(request.body, key)) return api.refuse(response, *bad, done);
  if (verb == "take") return take(api, name, key, response, done);
  refund(api, name, std::move(key), response, done);
}

}  // namespace weir::api
