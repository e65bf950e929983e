// One decision by its id: POST /v1/settle, /v1/refund, /v1/release, /v1/renew.

#include <utility>

#include "engine/receipt.h"
#include "serve/api/api.h"
#include "serve/api/check_request.h"

namespace weir::api {
namespace {

using engine::Receipt;
using store::Correction;
using Outcome = store::Correction::Outcome;

// What answers a correction that was made.
using Fill = std::function<void(const Correction&, http::Response&)>;

void answer_json(http::Response& response, std::string_view body) {
  response.content_type = "application/json";
  response.body = body;
}

// Answers by what became of it.
engine::Engine::Corrected told(const Api& api, http::Response& response, http::Done done,
                               Fill fill) {
  return [&api, &response, done = std::move(done),
          fill = std::move(fill)](const Correction& correction) {
    switch (correction.outcome) {
      case Outcome::kMade:
        fill(correction, response);
        return done();
      case Outcome::kSpent:
        return api.refuse(response, 409, "this id was used for that already: each is good once",
                          "id", done);
      case Outcome::kTooLate:
        return api.refuse(response, 404, "this id has ended: it is too late for that", "id", done);
      case Outcome::kUnknown:
        return api.refuse_unknown(response, "ask again; 409 then says that it had", done);
    }
  };
}

void settle(const Api& api, const Receipt& receipt, std::uint64_t cost, http::Response& response,
            http::Done done) {
  api.engine().settle(
      receipt, cost, api.now(),
      told(api, response, std::move(done), [](const Correction&, http::Response& answer) {
        answer_json(answer, "{\"settled\":true}\n");
      }));
}

void refund(const Api& api, const Receipt& receipt, http::Response& response, http::Done done) {
  api.engine().refund(
      receipt, api.now(),
      told(api, response, std::move(done), [](const Correction&, http::Response& answer) {
        answer_json(answer, "{\"refunded\":true}\n");
      }));
}

// Not released: a call that has left at its timeout, or one that met no limit on calls in flight.
void release(const Api& api, const Receipt& receipt, http::Response& response, http::Done done) {
  api.engine().release(
      receipt, api.now(),
      told(api, response, std::move(done), [](const Correction& made, http::Response& answer) {
        answer_json(answer, made.found > 0 ? "{\"released\":true}\n" : "{\"released\":false}\n");
      }));
}

void renew(const Api& api, const Receipt& receipt, http::Response& response, http::Done done) {
  const auto fill = [&api, receipt, done](const Correction& made, http::Response& answer) {
    if (made.found > 0) {
      return answer_json(answer,
                         "{\"renewed\":true,\"id\":\"" + std::string(api.id_of(receipt)) + "\"}\n");
    }
    api.refuse(answer, 409, "this call is in flight no more, or met no limit on such calls", "id",
               [] {});
  };
  api.engine().renew(receipt, api.now(), told(api, response, std::move(done), fill));
}

}  // namespace

bool is_id_verb(std::string_view verb) {
  return verb == "settle" || verb == "refund" || verb == "release" || verb == "renew";
}

void by_id(const Api& api, std::string_view verb, const http::Request& request,
           http::Response& response, http::Done done) {
  if (request.method != "POST") {
    response.add_header("Allow", "POST");
    return api.refuse(response, 405, "only POST is answered here", {}, done);
  }
  IdRequest asked;
  if (const auto bad = read_id(request.body, verb == "settle", asked)) {
    return api.refuse(response, *bad, done);
  }
  const auto receipt = api.engine().open(asked.id);
  if (!receipt) return api.refuse(response, 404, receipt.error().message, "id", done);
  if (verb == "settle") return settle(api, *receipt, asked.cost, response, std::move(done));
  if (verb == "refund") return refund(api, *receipt, response, std::move(done));
  if (verb == "release") return release(api, *receipt, response, std::move(done));
  renew(api, *receipt, response, std::move(done));
}

}  // namespace weir::api
