#include "serve/admin/handler.h"

#include "base/json.h"
#include "engine/test_engine.h"
#include "serve/admin/test_asked.h"

namespace weir::admin {
namespace {

// Answers nothing: no test of this file reaches it.
class NoControl final : public Control {
 public:
  PolicyStatus status() const override { return {}; }
  void run(Change, Done done) override { done(Outcome::refusal(500, "not expected")); }
};

class AdminHandler : public ::testing::Test {
 protected:
  AdminHandler() {
    EXPECT_TRUE(engine_.install(engine::policy_of({engine::limit("login", engine::bucket(5))})));
    About about;
    about.version = "1.2.3";
    about.readiness = [this] { return readiness_; };
    about.store = [] { return StoreState{"memory", true, "", 7, 100, 0}; };
    about.connections = [] {
      return std::vector<std::pair<std::string, std::size_t>>{{"gateway", 3}};
    };
    about.inside = [] { return std::vector<std::pair<std::string, std::uint64_t>>{{"loops", 2}}; };
    admin_.emplace(Sources{&registry_, &engine_, &clock_, &events_, &control_,
                           [this] { return token_; }, about});
    handler_ = admin_->handler();
  }

  http::Response get(std::string_view target) { return Asked("GET", target).answer(handler_); }

  metrics::Registry registry_;
  store::MemoryStore store_;
  engine::Engine engine_{store_, &registry_};
  ManualClock clock_{at_ns(engine::kStart)};
  Events events_;
  Readiness readiness_;
  NoControl control_;
  std::string token_ = "secret";
  std::optional<Admin> admin_;
  http::AsyncHandler handler_;
};

TEST_F(AdminHandler, ShowsMetricsInTheFormatThatIsAskedFor) {
  registry_.counter("weir_x_total", "X.").add();
  const auto plain = get("/metrics");
  EXPECT_EQ(plain.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(plain.body.find("weir_x_total 1\n"), std::string::npos);
  const auto open = Asked("GET", "/metrics")
                        .header("Accept", "application/openmetrics-text; version=1.0.0")
                        .answer(handler_);
  EXPECT_EQ(open.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_TRUE(open.body.ends_with("# EOF\n"));
}

TEST_F(AdminHandler, SaysWhyItIsNotReady) {
  readiness_.ready = false;
  readiness_.policy.source = "weir.yaml";
  readiness_.policy.hash = "sha256:00";
  readiness_.policy.loaded_at_ns = 1'714'564'800'999'999'999;
  readiness_.reasons = {"the store is away"};
  const auto response = get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body,
            "{\"ready\":false,\"generation\":0,\"policy\":\"weir.yaml\",\"hash\":\"sha256:00\","
            "\"loaded_at\":\"2024-05-01T12:00:00Z\",\"reasons\":[\"the store is away\"]}\n");
}

TEST_F(AdminHandler, IsAliveEvenWhereItIsNotReady) {
  readiness_.ready = false;
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(AdminHandler, TellsTheStatsAsJson) {
  events_.add(1000, log::Level::kWarning, "the store is \"slow\"");
  const auto response = get("/v1/stats?limits=1");
  EXPECT_EQ(response.content_type, "application/json");
  const auto parsed = parse_json(response.body.substr(0, response.body.size() - 1));
  ASSERT_TRUE(parsed) << parsed.error().message << "\n" << response.body;
  EXPECT_EQ(parsed->at("version").as_string(), "1.2.3");
  EXPECT_EQ(parsed->at("store").at("keys").as_int64(), 7);
  EXPECT_EQ(parsed->at("limits").at(0).at("name").as_string(), "login");
  EXPECT_EQ(parsed->at("events").at(0).at("text").as_string(), "the store is \"slow\"");
}

TEST_F(AdminHandler, SendsWhoWatchesAStream) {
  const auto response = get("/v1/stream");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.upgrade);
  EXPECT_NE(response.headers.find("text/event-stream"), std::string::npos);
}

// Whoever opens dashboards without end takes no more than so many places.
TEST_F(AdminHandler, HasSoManyPlacesForWatchersAndNoMore) {
  std::vector<http::Response> held;
  for (std::size_t i = 0; i < StreamHub::kMaxWatchers; ++i) {
    held.push_back(get("/v1/stream"));
    EXPECT_EQ(held.back().status, 200);
  }
  EXPECT_EQ(get("/v1/stream").status, 503);
  held.pop_back();
  EXPECT_EQ(get("/v1/stream").status, 200);
}

TEST_F(AdminHandler, ShowsThePolicyInForceAndWhatIsInside) {
  EXPECT_NE(get("/debug/policy").body.find("login"), std::string::npos);
  EXPECT_EQ(get("/debug/stats").body, "loops 2\nwatchers 0\n");
}

TEST_F(AdminHandler, ServesADashboardThatLoadsNothingFromElsewhere) {
  const auto page = get("/");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_NE(page.headers.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  for (const char* path : {"/", "/dashboard.js", "/charts.js", "/dashboard.css"}) {
    const auto asset = Asked("GET", path).from("192.0.2.1").answer(handler_);
    EXPECT_EQ(asset.status, 200) << path;
    EXPECT_EQ(asset.body.find("//cdn"), std::string::npos) << path;
    EXPECT_EQ(asset.body.find("https://"), std::string::npos) << path;
  }
}

TEST_F(AdminHandler, AsksForTheTokenOfAChangeOnLoopbackToo) {
  const auto reload = [&](std::string_view method, std::string_view token) {
    return Asked(method, "/v1/policy:reload").token(token).answer(handler_).status;
  };
  EXPECT_EQ(Asked("POST", "/v1/policy:reload").answer(handler_).status, 401);
  EXPECT_EQ(reload("POST", "secreT"), 401);
  EXPECT_EQ(reload("GET", "secret"), 405);
  EXPECT_EQ(Asked("GET", "/v1/policy").from("192.0.2.1").answer(handler_).status, 401);
  token_.clear();
  EXPECT_EQ(reload("POST", "x"), 403);
}

TEST_F(AdminHandler, ShowsKeysAndPolicyBeyondLoopbackOnlyToWhoHasTheToken) {
  for (const char* path :
       {"/metrics", "/v1/stats", "/v1/stream", "/debug/policy", "/debug/stats"}) {
    EXPECT_EQ(Asked("GET", path).from("192.0.2.1").answer(handler_).status, 401) << path;
    EXPECT_EQ(Asked("GET", path).from("192.0.2.1").token("secret").answer(handler_).status, 200)
        << path;
  }
}

}  // namespace
}  // namespace weir::admin
