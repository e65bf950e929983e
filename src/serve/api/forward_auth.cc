// GET /v1/forward-auth: may this request pass? For nginx auth_request, Traefik and Caddy.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/answer.h"
#include "engine/compiled_policy.h"
#include "engine/refusal_body.h"
#include "serve/api/api.h"
#include "serve/api/forwarded_request.h"

namespace weir::api {
namespace {

struct Options {
  Proxy proxy = Proxy::kEither;
  std::optional<int> deny;  // in place of the policy's status
};

std::optional<BadField> read_proxy(std::string_view text, Options& out) {
  if (text == "nginx") {
    out.proxy = Proxy::kOriginal;
  } else if (text == "traefik" || text == "caddy") {
    out.proxy = Proxy::kForwarded;
  } else {
    return BadField{"proxy", "must be nginx, traefik or caddy"};
  }
  return std::nullopt;
}

// "proxy=nginx&deny=403"
std::optional<BadField> read_options(std::string_view query, Options& out) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.starts_with("proxy=")) {
      if (auto bad = read_proxy(pair.substr(6), out)) return bad;
    } else if (pair == "deny=403" || pair == "deny=401" || pair == "deny=429") {
      out.deny = std::stoi(std::string(pair.substr(5)));
    } else {
      return BadField{"query", "takes proxy=nginx, traefik or caddy, and deny=401, 403 or 429"};
    }
  }
  return std::nullopt;
}

// What lives until the answer, and through the delay of an admitted request.
struct Asked {
  const Api* api = nullptr;
  http::Response* response = nullptr;
  http::Done done;
  Options options;
  ForwardedRequest request;
  std::optional<net::SteadyTimer> delay;
  std::int64_t began = engine::DecisionTimer::kNotTimed;
};

void fill(const Asked& asked, const engine::Decision& decision) {
  http::Response& response = *asked.response;
  asked.api->count(decision);
  engine::AnswerHeaders::append(decision, response.headers);
  if (decision.allowed) return;
  const int status = engine::refusal_status(decision);
  // A limiter that cannot decide is no verdict on the client: callers that know only 401 and 403
  // refuse all the same, by their own word.
  response.status = asked.options.deny.value_or(status);
  response.content_type = engine::append_refusal_body(decision, response.body);
}

// Answers, once an admitted request has waited for its slot.
void on_decision(Asked* asked, net::Loop& loop, const engine::Decision& decision) {
  asked->api->timer().end(asked->began);
  fill(*asked, decision);
  const auto finish = [asked] {
    const std::unique_ptr<Asked> owned(asked);
    const http::Done done = std::move(asked->done);
    done();
  };
  if (!decision.allowed || decision.delay <= Duration{0}) return finish();
  asked->delay.emplace(loop.executor());
  asked->delay->expires_after(decision.delay);
  asked->delay->async_wait([finish](const net::SystemError&) { finish(); });
}

}  // namespace

void forward_auth(const Api& api, const http::Request& request, http::Response& response,
                  http::Done done) {
  auto asked = std::make_unique<Asked>();
  if (const auto bad = read_options(request.query, asked->options)) {
    return api.refuse(response, *bad, done);
  }
  const auto compiled = api.engine().current();
  const policy::Policy& policy = compiled->policy();
  if (!policy::is_trusted(policy.identity, request.peer)) {
    return api.refuse(response, 400,
                      "only proxies may ask here: " + request.peer.to_string() +
                          " is not in identity.trusted_proxies",
                      {}, done);
  }
  const Instant now = api.now_of(request);
  const auto read = asked->request.read(request, asked->options.proxy, policy, now);
  if (!read) return api.refuse(response, read.error(), done);
  asked->api = &api;
  asked->response = &response;
  asked->done = std::move(done);
  asked->began = api.timer().begin();
  Asked* const raw = asked.release();  // on_decision() sees to its end
  net::Loop& loop = *request.loop;
  api.engine().decide(
      raw->request, now, std::nullopt,
      [raw, &loop](const engine::Decision& decision) { on_decision(raw, loop, decision); });
}

}  // namespace weir::api
