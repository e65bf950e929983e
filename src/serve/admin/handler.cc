#include "serve/admin/handler.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "engine/compiled_policy.h"
#include "policy/print.h"
#include "serve/admin/dashboard.h"
#include "serve/admin/policy_api.h"
#include "serve/http/problem.h"

namespace weir::admin {
namespace {

// Events that every frame repeats, for a watcher that joined between two.
constexpr std::uint64_t kEventsAgain = 5;

void answer_readiness(const Readiness& readiness, http::Response& response) {
  response.status = readiness.ready ? 200 : 503;
  response.content_type = "application/json";
  std::string& body = response.body;
  body = readiness.ready ? "{\"ready\":true" : "{\"ready\":false";
  append_status(body, readiness.policy);
  body += ",\"reasons\":";
  append_texts(body, readiness.reasons);
  body += "}\n";
}

// The number behind `limits=`, at most Figures::kMaxLimits; `fallback` where there is none.
std::size_t limits_asked(std::string_view query, std::size_t fallback) {
  const auto found = query.find("limits=");
  if (found == std::string_view::npos) return fallback;
  std::size_t count = 0;
  const std::string_view digits = query.substr(found + 7);
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return std::min(count, Figures::kMaxLimits);
}

}  // namespace

Admin::Admin(Sources sources)
    : sources_(std::move(sources)),
      figures_(*sources_.registry, *sources_.engine),
      observer_(*sources_.clock, [this](Instant now) { tick(now); }) {}

void Admin::tick(Instant now) {
  figures_.tick(now);
  if (hub_.watchers() == 0) return;
  const auto events = sources_.events->since(0);
  const std::uint64_t newest = events.empty() ? 0 : events.back().number;
  StatsOptions options;
  options.history = false;
  options.last_points = 2;  // the same for points
  options.after = std::min(last_event_, newest - std::min(newest, kEventsAgain));
  last_event_ = newest;
  hub_.publish(stats(options));
}

std::string Admin::stats(const StatsOptions& options) const {
  return render_stats(figures_, *sources_.engine, sources_.about, *sources_.events,
                      sources_.clock->now(), options);
}

http::AsyncHandler Admin::handler() {
  Router router(sources_.token);
  add_routes(router);
  return std::move(router).handler();
}

void Admin::add_routes(Router& router) {
  add_health(router);
  add_metrics(router);
  add_stats(router);
  add_debug(router);
  add_dashboard(router);
  router.pass("/v1/", http::AsyncHandler([this](const http::Request& request,
                                                http::Response& response, http::Done done) {
                const std::string token = sources_.token();
                const Access access{may_look(request, token), token};
                const ApiServices services{*sources_.control, *sources_.engine, *sources_.clock,
                                           *sources_.events};
                policy_api(services, access, request, response, std::move(done));
              }));
}

void Admin::add_health(Router& router) {
  router.show("/healthz", Shown::kToAll,
              http::Handler(
                  [](const http::Request&, http::Response& response) { response.body = "ok\n"; }));
  router.show("/readyz", Shown::kToAll,
              http::Handler([this](const http::Request&, http::Response& response) {
                answer_readiness(sources_.about.readiness(), response);
              }));
}

void Admin::add_metrics(Router& router) {
  router.show(
      "/metrics", Shown::kToViewers,
      http::AsyncHandler([this](const http::Request& request, http::Response& response,
                                http::Done done) {
        const metrics::Format format = metrics::format_for(request.headers.find("accept").value);
        observer_.run(request, response, std::move(done), [this, format](http::Response& filled) {
          filled.content_type = metrics::content_type(format);
          filled.body = sources_.registry->to_text(format);
        });
      }));
}

void Admin::add_stats(Router& router) {
  router.show("/v1/stats", Shown::kToViewers,
              http::AsyncHandler(
                  [this](const http::Request& request, http::Response& response, http::Done done) {
                    StatsOptions options;
                    options.limits = limits_asked(request.query, options.limits);
                    observer_.run(request, response, std::move(done),
                                  [this, options](http::Response& filled) {
                                    filled.content_type = "application/json";
                                    filled.body = stats(options) + '\n';
                                    filled.add_header("Cache-Control", "no-store");
                                  });
                  }));
  router.show("/v1/stream", Shown::kToViewers,
              http::AsyncHandler(
                  [this](const http::Request& request, http::Response& response, http::Done done) {
                    if (request.method == "HEAD") {
                      http::set_problem(response, 405, "only GET is answered here");
                      return done();
                    }
                    observer_.run(request, response, std::move(done),
                                  [this](http::Response& filled) { hub_.add(filled, stats({})); });
                  }));
}

void Admin::add_debug(Router& router) {
  router.show("/debug/policy", Shown::kToViewers,
              http::AsyncHandler([this](const http::Request& request, http::Response& response,
                                        http::Done done) {
                observer_.run(request, response, std::move(done), [this](http::Response& filled) {
                  filled.body = policy::print_yaml(sources_.engine->current()->policy());
                });
              }));
  router.show("/debug/stats", Shown::kToViewers,
              http::Handler([this](const http::Request&, http::Response& response) {
                for (const auto& [name, value] : sources_.about.inside()) {
                  response.body += name + ' ' + std::to_string(value) + '\n';
                }
                response.body += "watchers " + std::to_string(hub_.watchers()) + '\n';
              }));
}

}  // namespace weir::admin
