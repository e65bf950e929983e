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

}  // namespace
}  // namespace weir
