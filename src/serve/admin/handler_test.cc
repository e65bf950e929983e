#include "serve/admin/handler.h"

#include <gtest/gtest.h>

#include "wire/http1/request.h"

namespace weir::admin {
namespace {

// A request as the server would hand it over, read by its parser.
class Asked {
 public:
  Asked(std::string_view method, std::string_view path, std::string_view token = {}) {
    bytes_ = std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: h\r\n";
    if (!token.empty()) bytes_ += "authorization: " + std::string(token) + "\r\n";
    bytes_ += "\r\n";
    EXPECT_EQ(parser_.parse(bytes_), http1::Progress::kComplete);
    const http1::RequestHead& head = parser_.head();
    request_.method = head.method;
    request_.path = head.path;
    request_.headers = head.headers;
    request_.peer = *IpAddress::parse("127.0.0.1");
  }
  Asked& from(std::string_view address) {
    request_.peer = *IpAddress::parse(address);
    return *this;
  }
  // What the handler answers, which it must do before it returns.
  http::Response answer(const http::AsyncHandler& handler) {
    http::Response response;
    bool done = false;
    handler(request_, response, [&done] { done = true; });
    EXPECT_TRUE(done);
    return response;
  }

 private:
  std::string bytes_;
  http1::RequestParser parser_;
  http::Request request_;
};

// Answers nothing: no test of this file reaches it.
class NoControl final : public Control {
 public:
  PolicyStatus status() const override { return {}; }
  void run(Change, Done done) override { done(Outcome::refusal(500, "not expected")); }
};

class AdminHandler : public ::testing::Test {
 protected:
  http::AsyncHandler make(std::string token = {}) {
    registry_.counter("weir_x_total", "X.").add();
    return make_handler(
        {&registry_, [this] { return readiness_; }, [token] { return token; }, &control_});
  }

  metrics::Registry registry_;
  Readiness readiness_;
  NoControl control_;
};

TEST_F(AdminHandler, ShowsMetricsAsPrometheusText) {
  const auto response = Asked("GET", "/metrics").answer(make());
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(response.body.find("weir_x_total 1\n"), std::string::npos);
}

TEST_F(AdminHandler, SaysWhyItIsNotReady) {
  readiness_.ready = false;
  readiness_.policy.source = "weir.yaml";
  readiness_.policy.hash = "sha256:00";
  readiness_.policy.loaded_at_ns = 1'714'564'800'999'999'999;
  readiness_.reasons = {"the store is away"};
  const auto response = Asked("GET", "/readyz").answer(make());
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body,
            "{\"ready\":false,\"generation\":0,\"policy\":\"weir.yaml\",\"hash\":\"sha256:00\","
            "\"loaded_at\":\"2024-05-01T12:00:00Z\",\"reasons\":[\"the store is away\"]}\n");
}

TEST_F(AdminHandler, IsAliveEvenWhereItIsNotReady) {
  readiness_.ready = false;
  EXPECT_EQ(Asked("GET", "/healthz").answer(make()).status, 200);
}

TEST_F(AdminHandler, AsksForTheTokenBeyondLoopbackAndIsClosedThereWithoutOne) {
  const auto with_token = make("secret");
  const auto ask = [&](std::string_view token) {
    return Asked("GET", "/metrics", token).from("192.0.2.1").answer(with_token).status;
  };
  EXPECT_EQ(ask(""), 401);
  EXPECT_EQ(ask("Bearer secreT"), 401);
  EXPECT_EQ(ask("Bearer secret2"), 401);
  EXPECT_EQ(ask("Basic secret"), 401);
  EXPECT_EQ(ask("Bearer secret"), 200);
  EXPECT_EQ(Asked("GET", "/metrics", "Bearer ").from("192.0.2.1").answer(make()).status, 401);
  EXPECT_EQ(Asked("GET", "/readyz").from("192.0.2.1").answer(with_token).status, 200);
}

TEST_F(AdminHandler, AsksForTheTokenOfAChangeOnLoopbackToo) {
  const auto with_token = make("secret");
  EXPECT_EQ(Asked("POST", "/v1/policy:reload").answer(with_token).status, 401);
  EXPECT_EQ(Asked("POST", "/v1/policy:reload", "Bearer secreT").answer(with_token).status, 401);
  EXPECT_EQ(Asked("POST", "/v1/policy:reload", "Bearer x").answer(make()).status, 403);
  EXPECT_EQ(Asked("GET", "/v1/policy:reload", "Bearer secret").answer(with_token).status, 405);
  EXPECT_EQ(Asked("GET", "/v1/policy").from("192.0.2.1").answer(with_token).status, 401);
}

TEST_F(AdminHandler, RefusesOtherPathsAndMethodsByName) {
  EXPECT_EQ(Asked("GET", "/metric").answer(make()).status, 404);
  const auto response = Asked("POST", "/metrics").answer(make());
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers, "Allow: GET, HEAD\r\n");
}

}  // namespace
}  // namespace weir::admin
