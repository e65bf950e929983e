#include "weir/middleware/beast.h"

#include <gtest/gtest.h>

#include <string>

#include "middleware/policy.h"

namespace weir {
namespace {

namespace http = boost::beast::http;

http::request<http::string_body> get(const std::string& target) {
  http::request<http::string_body> request(http::verb::get, target, 11);
  request.set(http::field::host, "example.test");
  return request;
}

TEST(Beast, LetsPassAndThenRefusesAsThePolicySays) {
  Engine engine = make_engine();
  EXPECT_FALSE(beast::refuse(engine, get("/paid"), "203.0.113.7"));
  const auto refusal = beast::refuse(engine, get("/paid"), "203.0.113.7");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->result_int(), 429u);
  EXPECT_EQ((*refusal)["Retry-After"], "3600");
  EXPECT_EQ((*refusal)["Content-Type"], "application/json");
  EXPECT_NE(refusal->body().find("\"limit\":\"paid\""), std::string::npos);
  EXPECT_FALSE(beast::refuse(engine, get("/paid"), "203.0.113.8"));
}

TEST(Beast, ShowsHeadersToThePolicyInAnyCase) {
  Engine engine = make_engine();
  auto request = get("/");
  request.set("X-TOKEN", "t");
  EXPECT_FALSE(beast::refuse(engine, request, "203.0.113.7"));
  EXPECT_TRUE(beast::refuse(engine, request, "203.0.113.7"));
}

TEST(Beast, RefusesARequestThatCannotBeRead) {
  Engine engine = make_engine();
  const auto refusal = beast::refuse(engine, get("/%zz"), "203.0.113.7");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->result_int(), 400u);
}

TEST(Beast, TellsAnAdmittedClientHowMuchItHasLeft) {
  Engine engine = make_engine();
  const HttpAnswer said = beast::answer(beast::check(engine, get("/paid"), "203.0.113.7"));
  http::response<http::string_body> response;
  beast::add_headers(response, said);
  EXPECT_EQ(response["X-RateLimit-Remaining"], "0");
}

}  // namespace
}  // namespace weir
