#include "weir/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

using std::chrono::seconds;

constexpr const char* kPolicy = R"(
limits:
  - name: login
    match: { method: POST, path: /login }
    key: [ip]
    algorithm: token_bucket
    rate: 0.1/s
    burst: 2
)";

Engine make() {
  auto engine = Engine::from_text(kPolicy);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return *std::move(engine);
}

Result<Decision> login(Engine& engine, Instant now) {
  return engine.check({{"ip", "203.0.113.7"}, {"method", "POST"}, {"path", "/login"}}, std::nullopt,
                      now);
}

TEST(LibraryEngine, DecidesByThePolicyAndWordsTheRefusal) {
  Engine engine = make();
  EXPECT_TRUE(login(engine, at_ns(0))->allowed);
  EXPECT_TRUE(login(engine, at_ns(0))->allowed);
  const auto refused = login(engine, at_ns(0));
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->allowed);
  EXPECT_EQ(refused->limit, "login");
  EXPECT_EQ(refused->verdict.retry_after, seconds(10));
  const HttpAnswer http = refused->http();
  EXPECT_EQ(http.status, 429);
  EXPECT_EQ(http.content_type, "application/json");
  EXPECT_NE(http.body.find("\"retry_after\":10"), std::string::npos);
  EXPECT_EQ(std::count_if(http.headers.begin(), http.headers.end(),
                          [](const auto& header) { return header.first == "Retry-After"; }),
            1);
  EXPECT_TRUE(login(engine, at_ns(10'000'000'000))->allowed);
}

TEST(LibraryEngine, MeetsNoLimitWhereNoneMatches) {
  Engine engine = make();
  const auto decision = engine.check({{"path", "/"}});
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->allowed);
  EXPECT_EQ(decision->limit, "");
  EXPECT_TRUE(decision->limits.empty());
}

TEST(LibraryEngine, AnswersLaterThroughACallback) {
  Engine engine = make();
  int told = 0;
  const AttributeValue attributes[] = {
      {"ip", "203.0.113.7"}, {"method", "POST"}, {"path", "/login"}};
  engine.check_async(attributes, 3, [&told](const Result<Decision>& decision) {
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->reason, Reason::kCostExceedsLimit);
    ++told;
  });
  EXPECT_EQ(told, 1);
}

TEST(LibraryEngine, NamesEveryMistakeOfAPolicyAndEveryBadAttribute) {
  const auto engine = Engine::from_text("limits:\n  - name: x\n    algorithm: magic\n");
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message.find("policy:3:"), std::string::npos) << engine.error().message;
  EXPECT_FALSE(Engine::from_file("/nowhere/weir.yaml").has_value());
  Engine right = make();
  EXPECT_FALSE(right.check({{"ip", "none"}}).has_value());
  EXPECT_FALSE(right.check({{"colour", "red"}}).has_value());
}

TEST(LibraryEngine, KeepsThePolicyInForceWhenTheNextIsWrong) {
  Engine engine = make();
  ASSERT_TRUE(login(engine, at_ns(0))->allowed);
  EXPECT_FALSE(engine.reload_text("limits: 7").has_value());
  EXPECT_EQ(login(engine, at_ns(0))->verdict.remaining, 0u);
  EXPECT_TRUE(engine.reload_text("limits: []").has_value());
  EXPECT_TRUE(login(engine, at_ns(0))->allowed);
}

TEST(LibraryEngine, RefusesAPolicyWhoseStoreIsElsewhere) {
  const auto engine = Engine::from_text("store: { url: redis://127.0.0.1:6379 }\nlimits: []\n");
  ASSERT_FALSE(engine);
}

TEST(LibraryEngine, CorrectsWhatACallCostOnceAndInWhicheverCopy) {
  Engine engine = make();
  const auto first = login(engine, at_ns(0));
  ASSERT_TRUE(engine.refund(*first, at_ns(0)));
  const Decision copy = *first;
  EXPECT_FALSE(engine.refund(copy, at_ns(0)));
  EXPECT_FALSE(engine.settle(copy, 7, at_ns(0)));
  const auto dear = login(engine, at_ns(0));
  EXPECT_EQ(dear->verdict.remaining, 1u);
  ASSERT_TRUE(engine.settle(*dear, 4, at_ns(0)));
  const auto refused = login(engine, at_ns(0));
  EXPECT_EQ(refused->verdict.retry_after, seconds(30));  // two are owed, and one is wanted
  EXPECT_FALSE(engine.refund(*refused, at_ns(0)));
  EXPECT_FALSE(engine.refund(Decision{}, at_ns(0)));
}

TEST(LibraryEngine, HoldsPlacesOfCallsInFlightUntilTheyAreReleased) {
  auto engine = Engine::from_text(
      "limits:\n  - { name: flight, algorithm: concurrency, limit: 1, timeout: 10s }\n");
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const auto ask = [&](std::int64_t at_s) {
    return *engine->check(std::span<const AttributeValue>{}, std::nullopt,
                          at_ns(at_s * 1'000'000'000));
  };
  const Decision call = ask(0);
  EXPECT_TRUE(call.allowed);
  EXPECT_FALSE(ask(1).allowed);
  EXPECT_TRUE(engine->renew(call, at_ns(9'000'000'000)));
  EXPECT_FALSE(ask(18).allowed);
  EXPECT_TRUE(engine->release(call, at_ns(18'000'000'000)));
  EXPECT_FALSE(engine->release(call, at_ns(18'000'000'000)));
  EXPECT_FALSE(engine->renew(call, at_ns(18'000'000'000)));
  const Decision lost = ask(18);
  EXPECT_TRUE(lost.allowed);
  EXPECT_TRUE(ask(28).allowed);  // a holder that died
  EXPECT_FALSE(engine->release(lost, at_ns(28'000'000'000)));
}

TEST(LibraryEngine, RefusesASnapshotThatItWouldNotWrite) {
  const auto engine = Engine::from_text("store: { snapshot: { file: state } }\nlimits: []\n");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace weir
