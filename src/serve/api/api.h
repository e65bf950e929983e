// Api: what the endpoints of the check API share.
//
// THREADS: any.

#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/adhoc.h"
#include "engine/decision_timer.h"
#include "engine/engine.h"
#include "engine/receipt.h"
#include "engine/request_counters.h"
#include "serve/api/bad_field.h"
#include "serve/http/message.h"

namespace weir::api {

class Api {
 public:
  // REQUIRES: all outlive it, and the engine has a policy.
  Api(engine::Engine& engine, engine::Adhoc& adhoc, const Clock& clock,
      metrics::Registry& registry);

  engine::Engine& engine() const { return engine_; }
  engine::Adhoc& adhoc() const { return adhoc_; }
  Instant now() const { return clock_.now(); }
  const engine::DecisionTimer& timer() const { return timer_; }
  // The moment at which a request is decided: when it was read, where that is known.
  Instant now_of(const http::Request& request) const { return request.at ? *request.at : now(); }

  // Counts one decision.
  void count(const engine::Decision& decision) const {
    requests_.count(decision.allowed, decision.reason);
  }

  // Fill an answer that says what is wrong, count it, and run `done`.
  void refuse(http::Response& response, int status, std::string_view detail, std::string_view field,
              const http::Done& done) const;
  void refuse(http::Response& response, const BadField& bad, const http::Done& done) const {
    refuse(response, 400, bad.message, bad.field, done);
  }
  // By the error's code: 404 for what does not exist, else 400.
  void refuse(http::Response& response, const Error& error, const http::Done& done) const;

  // What was asked may have been done or not. `then`: what the caller does about it.
  void refuse_unknown(http::Response& response, std::string_view then,
                      const http::Done& done) const;

  // Fills the answer to one decision: its status, header families, JSON with its id; and counts it.
  void answer(const engine::Decision& decision, http::Response& response) const {
    answer(decision, id_of(decision), response);
  }
  void answer(const engine::Decision& decision, std::string_view id,
              http::Response& response) const;

  // By what charges can be corrected later; empty where there are none. Lives until the next one of
  // this thread.
  std::string_view id_of(const engine::Decision& decision) const;
  std::string_view id_of(const engine::Receipt& receipt) const;

 private:
  engine::Engine& engine_;
  engine::Adhoc& adhoc_;
  const Clock& clock_;
  const engine::RequestCounters requests_;
  const engine::DecisionTimer timer_;
};

// The endpoints. Each runs `done` once the response is filled. A `policy` is good until something
// is decided (Engine::glance).
void check(const Api& api, const policy::Policy& policy, const http::Request& request,
           http::Response& response, http::Done done);
// /v1/limits/{name}/take, /refund (POST) and /keys (GET, DELETE); `rest` is "{name}/take".
void limit_by_name(const Api& api, std::string_view rest, const http::Request& request,
                   http::Response& response, http::Done done);
// /v1/settle, /v1/refund, /v1/release, /v1/renew: one decision by its id.
bool is_id_verb(std::string_view verb);
void by_id(const Api& api, std::string_view verb, const http::Request& request,
           http::Response& response, http::Done done);
void forward_auth(const Api& api, const http::Request& request, http::Response& response,
                  http::Done done);

}  // namespace weir::api
