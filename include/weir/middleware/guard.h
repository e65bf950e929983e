// Guard: an Engine in front of a handler, for any HTTP library: three callbacks say how that
// library shows a request, and what it does with a refusal.
//
//   weir::Guard<Request, Response> guard(engine, describe, refuse);
//   Response answer = guard(request, handler);
//
// weir/middleware/beast.h and httplib.h are made of this.
//
// THREADS: as the callbacks are.

#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weir/engine.h"

namespace weir {

// What HTTP says of a check: status 200 with headers to add, 429 and 503 as the policy words them,
// or 400 for a request that cannot be read.
inline HttpAnswer answer(const Result<Decision>& decision) {
  if (decision) return decision->http();
  HttpAnswer bad;
  bad.status = 400;
  bad.content_type = "text/plain";
  bad.body = decision.error().message + "\n";
  return bad;
}

template <typename Request, typename Response>
class Guard {
 public:
  // Appends what is known of the request; the views live as long as it does.
  using Describe = std::function<void(const Request&, std::vector<AttributeValue>&)>;
  // Makes a response of a refusal.
  using Refuse = std::function<Response(const Request&, const HttpAnswer&)>;
  // Adds the headers that tell the client how much it has left. May be empty.
  using Annotate = std::function<void(Response&, const HttpAnswer&)>;
  using Handler = std::function<Response(const Request&)>;

  // REQUIRES: the engine outlives the guard.
  Guard(Engine& engine, Describe describe, Refuse refuse, Annotate annotate = {})
      : engine_(engine),
        describe_(std::move(describe)),
        refuse_(std::move(refuse)),
        annotate_(std::move(annotate)) {}

  // The handler's response, or a refusal. A request whose attributes cannot be read (a bad path,
  // an address that is none) is refused with 400. A delay is not waited for: use what holds
  // requests best in your library, by decide(). Places in limits on calls in flight are held until
  // the handler returns or throws.
  Response operator()(const Request& request, const Handler& handler) const {
    const Result<Decision> decision = check(request);
    const HttpAnswer answer = weir::answer(decision);
    if (answer.status != 200) return refuse_(request, answer);
    const Places places{engine_, *decision};
    Response response = handler(request);
    if (annotate_) annotate_(response, answer);
    return response;
  }

  // Status 200: pass it on, with these headers. Places in limits on calls in flight are free again
  // at their timeout, since nobody says here when the call has ended: Engine::check() and release()
  // do.
  HttpAnswer decide(const Request& request) const { return weir::answer(check(request)); }

 private:
  struct Places {
    ~Places() { engine.release(decision); }
    Engine& engine;
    const Decision& decision;
  };

  Result<Decision> check(const Request& request) const {
    std::vector<AttributeValue> attributes;
    describe_(request, attributes);
    return engine_.check(attributes);
  }

  Engine& engine_;
  Describe describe_;
  Refuse refuse_;
  Annotate annotate_;
};

}  // namespace weir
