#include "weir/middleware/guard.h"

#include <gtest/gtest.h>

#include <string>

#include "middleware/policy.h"

namespace weir {
namespace {

struct Request {
  std::string path;
  std::string peer;
};
struct Response {
  int status = 0;
  std::string body;
  std::string remaining;
};

TEST(Guard, StandsBeforeAHandlerOfAnyLibrary) {
  Engine engine = make_engine();
  const Guard<Request, Response> guard(
      engine,
      [](const Request& request, std::vector<AttributeValue>& out) {
        out.push_back({"ip", request.peer});
        out.push_back({"method", "GET"});
        out.push_back({"path", request.path});
      },
      [](const Request&, const HttpAnswer& answer) {
        return Response{answer.status, answer.body, ""};
      },
      [](Response& response, const HttpAnswer& answer) {
        for (const auto& [name, value] : answer.headers) {
          if (name == "X-RateLimit-Remaining") response.remaining = value;
        }
      });
  int handled = 0;
  const auto handler = [&handled](const Request&) {
    ++handled;
    return Response{200, "paid", ""};
  };
  const Response first = guard({"/paid", "203.0.113.7"}, handler);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.remaining, "0");
  EXPECT_EQ(guard({"/paid", "203.0.113.7"}, handler).status, 429);
  EXPECT_EQ(guard({"/paid", "nobody"}, handler).status, 400);
  EXPECT_EQ(handled, 1);
}

TEST(Guard, HoldsAPlaceInFlightUntilItsHandlerReturnsOrThrows) {
  Engine engine = *Engine::from_text(
      "limits:\n  - { name: flight, algorithm: concurrency, limit: 1, timeout: 1h }\n");
  const Guard<Request, Response> guard(
      engine, [](const Request&, std::vector<AttributeValue>&) {},
      [](const Request&, const HttpAnswer& answer) {
        return Response{answer.status, answer.body, ""};
      });
  int within = 0;
  for (int i = 0; i < 2; ++i) {
    guard({"/", ""}, [&](const Request& request) {
      within = guard(request, [](const Request&) { return Response{200, "", ""}; }).status;
      return Response{200, "", ""};
    });
    EXPECT_EQ(within, 429);
  }
  EXPECT_THROW(guard({"/", ""}, [](const Request&) -> Response { throw 7; }), int);
  EXPECT_EQ(guard({"/", ""}, [](const Request&) { return Response{200, "", ""}; }).status, 200);
}

}  // namespace
}  // namespace weir
