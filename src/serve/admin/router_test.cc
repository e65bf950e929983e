#include "serve/admin/router.h"

#include "serve/admin/test_asked.h"

namespace weir::admin {
namespace {

http::AsyncHandler routes(std::string token = {}) {
  Router router([token] { return token; });
  const auto say = [](std::string text) {
    return http::Handler(
        [text](const http::Request&, http::Response& response) { response.body = text; });
  };
  router.show("/open", Shown::kToAll, say("open"));
  router.show("/v1/look", Shown::kToViewers, say("look"));
  router.pass("/v1/", http::AsyncHandler([](const http::Request& request, http::Response& response,
                                            const http::Done& done) {
                response.body = "passed " + std::string(request.method);
                done();
              }));
  return std::move(router).handler();
}

TEST(Router, FindsAPageAndPassesOnWhatBeginsAsSaid) {
  EXPECT_EQ(Asked("GET", "/v1/look").answer(routes()).body, "look");
  EXPECT_EQ(Asked("HEAD", "/v1/look").answer(routes()).status, 200);
  EXPECT_EQ(Asked("PUT", "/v1/limits/login").answer(routes()).body, "passed PUT");
  EXPECT_EQ(Asked("GET", "/v2/look").answer(routes()).status, 404);
}

TEST(Router, NamesTheMethodsThatAPageKnows) {
  const auto response = Asked("POST", "/v1/look").answer(routes());
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers, "Allow: GET, HEAD\r\n");
}

TEST(Router, ShowsNothingBeyondLoopbackWithoutTheToken) {
  const auto look = [](std::string_view token) {
    Asked asked("GET", "/v1/look");
    if (!token.empty()) asked.header("Authorization", token);
    return asked.from("192.0.2.1").answer(routes("secret")).status;
  };
  EXPECT_EQ(look(""), 401);
  EXPECT_EQ(look("Bearer secreT"), 401);
  EXPECT_EQ(look("Bearer secret2"), 401);
  EXPECT_EQ(look("Basic secret"), 401);
  EXPECT_EQ(look("Bearer secret"), 200);
  EXPECT_EQ(Asked("GET", "/v1/look").answer(routes("secret")).status, 200);
  EXPECT_EQ(Asked("GET", "/open").from("192.0.2.1").answer(routes("secret")).status, 200);
}

TEST(Router, IsClosedBeyondLoopbackWhereNoTokenIsSet) {
  EXPECT_EQ(Asked("GET", "/v1/look").from("192.0.2.1").token("").answer(routes()).status, 401);
}

}  // namespace
}  // namespace weir::admin
