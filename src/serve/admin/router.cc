#include "serve/admin/router.h"

#include <algorithm>
#include <memory>

#include "serve/http/problem.h"
#include "serve/http/token.h"

namespace weir::admin {

bool may_look(const http::Request& request, std::string_view token) {
  return request.peer.is_loopback() || (!token.empty() && http::shows_token(request, token));
}

void Router::show(std::string path, Shown shown, http::AsyncHandler handler) {
  pages_.push_back({std::move(path), shown, std::move(handler)});
}

void Router::show(std::string path, Shown shown, http::Handler handler) {
  show(std::move(path), shown,
       http::AsyncHandler([handler = std::move(handler)](const http::Request& request,
                                                         http::Response& response,
                                                         const http::Done& done) {
         handler(request, response);
         done();
       }));
}

void Router::pass(std::string prefix, http::AsyncHandler handler) {
  passed_.push_back({std::move(prefix), Shown::kToAll, std::move(handler)});
}

http::AsyncHandler Router::handler() && {
  // WHY shared: std::function is copied.
  const auto router = std::make_shared<const Router>(std::move(*this));
  return [router](const http::Request& request, http::Response& response, http::Done done) {
    router->answer(request, response, std::move(done));
  };
}

void Router::answer(const http::Request& request, http::Response& response, http::Done done) const {
  const auto page = std::find_if(pages_.begin(), pages_.end(),
                                 [&](const Route& route) { return route.path == request.path; });
  if (page != pages_.end()) return show(*page, request, response, std::move(done));
  for (const Route& route : passed_) {
    if (!request.path.starts_with(route.path)) continue;
    return route.answer(request, response, std::move(done));
  }
  http::set_problem(response, 404, "there is nothing here; there are /, /metrics and /readyz");
  done();
}

void Router::show(const Route& route, const http::Request& request, http::Response& response,
                  http::Done done) const {
  if (request.method != "GET" && request.method != "HEAD") {
    http::set_problem(response, 405, "only GET and HEAD are answered here");
    response.add_header("Allow", "GET, HEAD");
    return done();
  }
  if (route.shown == Shown::kToViewers && !may_look(request, token_())) {
    http::refuse_without_token(response);
    return done();
  }
  route.answer(request, response, std::move(done));
}

}  // namespace weir::admin
