// Envoy's rate limit service through the real listener, over a memory store and a clock that the
// test moves.

#include "serve/grpc/rate_limiter.h"

#include <gtest/gtest.h>

#include "policy/load.h"
#include "serve/grpc/server.h"
#include "serve/grpc/service.h"
#include "serve/grpc/test_messages.h"
#include "support/failed_store.h"
#include "support/grpc_client.h"
#include "support/memory_store.h"

namespace weir::grpc {
namespace {

using protobuf::Writer;
using testing::grpc_frame;
using testing::GrpcClient;

constexpr std::string_view kPath = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

class RateLimitServiceTest : public ::testing::Test {
 protected:
  void start(const std::string& policy_text) {
    auto loaded = policy::load_text("test.yaml", "grpc: { listen: 127.0.0.1:1 }\n" + policy_text,
                                    policy::Format::kYaml);
    ASSERT_TRUE(loaded.policy) << loaded.mistakes[0].to_line();
    ASSERT_TRUE(engine_.install(*std::move(loaded.policy)));
    Options options;
    options.listener.listen = {"127.0.0.1", 0};
    auto opened = open(loops_, options, all_methods(limiter_));
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    server_->start();
    loops_.start();
    client_ = std::make_unique<GrpcClient>(server_->port());
  }
  void TearDown() override { loops_.stop(); }

  const GrpcClient::Call& call(const std::string& message) { return client_->call(kPath, message); }
  std::string words(const std::string& message) {
    const auto& answered = call(message);
    return answered.status() == "0" ? in_words(answered.message()) : "status " + answered.status();
  }
  static std::string api(const std::string& user = "u1", std::uint64_t hits = 0) {
    return request("api", {{{{"user", user}}}}, hits);
  }

  ManualClock clock_{at_ns(1'700'000'040'000'000'000)};  // the start of a minute
  metrics::Registry registry_;
  store::MemoryStore store_;
  engine::Engine engine_{store_};
  engine::Adhoc adhoc_{store_, engine_};
  RateLimiter limiter_{engine_, adhoc_, clock_, registry_};
  net::Loops loops_{1};
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<GrpcClient> client_;
};

const std::string kTwoAMinute =
    "limits: [{ name: api, match: { domain: api }, key: [user], algorithm: fixed_window, limit: 2, "
    "window: 1m }]\n";

TEST_F(RateLimitServiceTest, CountsByDescriptorAndTellsStatusAndReset) {
  start(kTwoAMinute);
  EXPECT_EQ(words(api()), "OK [OK 2/MINUTE api 1 60s]");
  EXPECT_EQ(words(api()), "OK [OK 2/MINUTE api 0 60s]");
  EXPECT_EQ(words(api()), "OVER_LIMIT [OVER_LIMIT 2/MINUTE api 0 60s]");
  EXPECT_EQ(words(api("u2")), "OK [OK 2/MINUTE api 1 60s]");
}

TEST_F(RateLimitServiceTest, ResetIsRoundedUpAndNeverZeroWithinAWindow) {
  start(kTwoAMinute);
  clock_.set(clock_.now() + Duration(59'000'000'001));
  EXPECT_EQ(words(api()), "OK [OK 2/MINUTE api 1 1s]");
}

TEST_F(RateLimitServiceTest, RequestsAtTheEdgeOfTheProtocol) {
  start(kTwoAMinute);
  EXPECT_EQ(call(request("", {{{{"user", "u"}}}})).text(), "rate limit domain must not be empty");
  EXPECT_EQ(call(request("api", {})).text(), "rate limit descriptor list must not be empty");
  EXPECT_EQ(words(request("other", {{{{"user", "u"}}}})), "OK [OK]");
  EXPECT_EQ(words(request("api", {{}})), "OK [OK]");
  EXPECT_EQ(words(request("api", {{{{"", "u"}}}})), "OK [OK]");
  EXPECT_EQ(call("\xFF").status(), "3");
}

TEST_F(RateLimitServiceTest, AThousandDescriptorsGetAThousandStatusesInOrder) {
  start(kTwoAMinute);
  std::vector<Asked> many;
  for (int i = 0; i < 1000; ++i) many.push_back({{{"user", "u" + std::to_string(i / 3)}}});
  const std::string said = words(request("api", many));
  std::string expected = "OVER_LIMIT";
  for (int i = 0; i < 1000; ++i) {
    expected += i % 3 == 2 ? " [OVER_LIMIT 2/MINUTE api 0 60s]"
                           : " [OK 2/MINUTE api " + std::to_string(1 - i % 3) + " 60s]";
  }
  EXPECT_EQ(said, expected);
}

TEST_F(RateLimitServiceTest, UnlimitedAndDeniedTogetherAreOverLimit) {
  start(
      "limits: [{ name: free, match: { user: staff }, algorithm: unlimited },"
      "{ name: none, match: { user: bad }, algorithm: fixed_window, limit: 0, window: 1d }]\n");
  EXPECT_EQ(words(api("staff")), "OK [OK 4294967295]");
  EXPECT_EQ(words(request("api", {{{{"user", "staff"}}}, {{{"user", "bad"}}}})),
            "OVER_LIMIT [OK 4294967295] [OVER_LIMIT 0/DAY none 0 0s]");
}

TEST_F(RateLimitServiceTest, TheLargestAddendDoesNotWrap) {
  start(kTwoAMinute);
  EXPECT_EQ(words(api("u1", 4294967295)), "OVER_LIMIT [OVER_LIMIT 2/MINUTE api 2 0s]");
  EXPECT_EQ(words(api("u1", 4294967295)), "OVER_LIMIT [OVER_LIMIT 2/MINUTE api 2 0s]");
  EXPECT_EQ(words(api("u1", 1)), "OK [OK 2/MINUTE api 1 60s]");
}

TEST_F(RateLimitServiceTest, AddendsOfTheRequestAndTheDescriptor) {
  start(kTwoAMinute);
  EXPECT_EQ(words(api("a", 2)), "OK [OK 2/MINUTE api 0 60s]");
  EXPECT_EQ(words(request("api", {{{{"user", "b"}}, {}, 2}}, 1)), "OK [OK 2/MINUTE api 0 60s]");
  EXPECT_EQ(words(request("api", {{{{"user", "c"}}, {}, 0}}, 9)),
            "OK [OK 2/MINUTE api 2 0s]");  // a peek
}

TEST_F(RateLimitServiceTest, TheSameDescriptorTwiceIsChargedTwice) {
  start("limits: [{ name: one, key: [user], algorithm: fixed_window, limit: 1, window: 1m }]\n");
  const Asked same{{{"user", "u"}}};
  EXPECT_EQ(words(request("api", {same, same})),
            "OVER_LIMIT [OK 1/MINUTE one 0 60s] [OVER_LIMIT 1/MINUTE one 0 60s]");
  EXPECT_EQ(words(api("u")), "OVER_LIMIT [OVER_LIMIT 1/MINUTE one 0 60s]");
}

TEST_F(RateLimitServiceTest, AnOverrideReplacesTheLimit) {
  start(kTwoAMinute);
  const std::string five =
      request("api", {{{{"user", "u1"}}, rls::Override{5, rls::Unit::kMinute}}});
  for (int left = 4; left >= 0; --left) {
    EXPECT_EQ(words(five), "OK [OK 5/MINUTE " + std::to_string(left) + " " +
                               std::to_string((5 - left) * 12) + "s]");
  }
  EXPECT_EQ(words(five), "OVER_LIMIT [OVER_LIMIT 5/MINUTE 0 12s]");
  EXPECT_EQ(words(api()), "OK [OK 2/MINUTE api 1 60s]");
  EXPECT_EQ(
      call(request("api", {{{{"user", "u"}}, rls::Override{5, rls::Unit::kUnknown}}})).status(),
      "3");
}

TEST_F(RateLimitServiceTest, ARateIsShownInTheSmallestUnitThatIsWhole) {
  start("limits: [{ name: slow, key: [user], algorithm: token_bucket, rate: 0.2/s, burst: 3 }]\n");
  EXPECT_EQ(words(api()), "OK [OK 12/MINUTE slow 2 5s]");
}

TEST_F(RateLimitServiceTest, ABadAddressIsAnErrorAndChargesNothing) {
  start("limits: [{ name: one, key: [user], algorithm: fixed_window, limit: 1, window: 1m }]\n");
  EXPECT_EQ(call(request("api", {{{{"user", "u"}}}, {{{"ip", "1.2.3"}}}})).status(), "3");
  EXPECT_EQ(words(api("u")), "OK [OK 1/MINUTE one 0 60s]");
}

TEST_F(RateLimitServiceTest, ARefusalCarriesHeadersBodyAndTheLimitsName) {
  start(kTwoAMinute);
  call(api());
  call(api());
  const std::string message = call(api()).message();
  EXPECT_NE(message.find("retry-after"), std::string::npos);
  EXPECT_NE(message.find("x-ratelimit-remaining"), std::string::npos);
  EXPECT_NE(message.find("{\"code\":\"RATE_LIMITED\""), std::string::npos);
  EXPECT_NE(message.find(std::string("\x0A\x05limit\x12\x05\x1A\x03") + "api"), std::string::npos);
}

TEST_F(RateLimitServiceTest, ABlockedDescriptorIsOverALimitThatHasNoName) {
  start(std::string(kTwoAMinute) + "block: [{ user: mallory }]\n");
  const std::string message = call(api("mallory")).message();
  EXPECT_EQ(in_words(message), "OVER_LIMIT [OVER_LIMIT]");
  EXPECT_NE(message.find("{\"code\":\"BLOCKED\""), std::string::npos);
  EXPECT_EQ(header_of(message, "retry-after"), "");
}

TEST_F(RateLimitServiceTest, TheAnswerSpeaksOfTheLimitThatRefusesAndNotOfOneThatPassed) {
  start(
      "limits: [{ name: minute, match: { domain: d }, algorithm: fixed_window, limit: 60, window: "
      "1m "
      "}, { name: hour, match: { domain: d }, algorithm: fixed_window, limit: 5, window: 1h }]\n");
  clock_.set(at_ns((1'699'999'200 + 610) * std::int64_t{1'000'000'000}));  // into an hour
  const std::string one = request("d", {{{{"user", "u"}}}});
  for (int left = 4; left >= 1; --left) call(one);
  const std::string fifth = call(one).message();
  EXPECT_EQ(in_words(fifth), "OK [OK 5/HOUR hour 0 2990s]");
  EXPECT_EQ(header_of(fifth, "x-ratelimit-limit"), "5");
  const std::string sixth = call(one).message();
  EXPECT_EQ(in_words(sixth), "OVER_LIMIT [OVER_LIMIT 5/HOUR hour 0 2990s]");
  EXPECT_EQ(header_of(sixth, "x-ratelimit-limit"), "5");
  EXPECT_EQ(header_of(sixth, "x-ratelimit-remaining"), "0");
  EXPECT_EQ(header_of(sixth, "retry-after"), "2990");
}

TEST_F(RateLimitServiceTest, HeadersAreThoseOfTheDescriptorWithTheSmallestShareLeft) {
  start(
      "limits: [{ name: wide, match: { user: a }, algorithm: fixed_window, limit: 100, window: 1m "
      "},"
      "{ name: tight, match: { user: b }, algorithm: fixed_window, limit: 5, window: 1m }]\n");
  const std::string both = request("d", {{{{"user", "a"}}}, {{{"user", "b"}}}});
  for (int left = 4; left >= 0; --left) {
    const std::string answer = call(both).message();
    EXPECT_EQ(header_of(answer, "x-ratelimit-limit"), "5");
    EXPECT_EQ(header_of(answer, "x-ratelimit-remaining"), std::to_string(left));
    EXPECT_EQ(header_of(answer, "retry-after"), "");
  }
  const std::string refused = call(both).message();
  EXPECT_EQ(header_of(refused, "x-ratelimit-limit"), "5");
  EXPECT_EQ(header_of(refused, "retry-after"), "60");
}

TEST_F(RateLimitServiceTest, LongValuesThatDifferInTheirLastByteAreTwoKeys) {
  start(kTwoAMinute);
  const std::string stem(8191, 'k');
  EXPECT_EQ(words(api(stem + "a")), "OK [OK 2/MINUTE api 1 60s]");
  EXPECT_EQ(words(api(stem + "b")), "OK [OK 2/MINUTE api 1 60s]");
  EXPECT_EQ(words(api(stem + "a")), "OK [OK 2/MINUTE api 0 60s]");
  EXPECT_EQ(words(api(std::string(1 << 20, 'k'))), "status 8");
  EXPECT_EQ(words(api(stem + "b")), "OK [OK 2/MINUTE api 0 60s]");
}

// What a call with numbers of its own is answered while the store is down.
Result<rls::Code> ask_a_failed_store(policy::OnError on_error) {
  const ManualClock clock{at_ns(1'700'000'040'000'000'000)};
  metrics::Registry registry;
  testing::FailedStore store;
  engine::Engine engine{store};
  engine::Adhoc adhoc{store, engine};
  const RateLimiter limiter{engine, adhoc, clock, registry};
  policy::Policy policy;
  policy.store.on_error = on_error;
  policy.store.instances = 1;
  EXPECT_TRUE(engine.install(policy));
  std::optional<Result<rls::Code>> told;
  limiter.decide(request("d", {{{{"user", "u"}}, rls::Override{1, rls::Unit::kMinute}, 2}}),
                 [&](const RateLimiter::Answer& answer) {
                   answer ? told.emplace(answer->get().overall_code) : told.emplace(answer.error());
                 });
  return *told;
}

TEST(RateLimitFailure, AnOverrideObeysOnErrorOfTheStore) {
  EXPECT_EQ(*ask_a_failed_store(policy::OnError::kAllow), rls::Code::kOk);
  EXPECT_EQ(*ask_a_failed_store(policy::OnError::kLocal), rls::Code::kOverLimit);
  EXPECT_EQ(ask_a_failed_store(policy::OnError::kDeny).error().code, ErrorCode::kUnavailable);
}

class GrpcSectionTest : public RateLimitServiceTest {
 protected:
  void start_with(const std::string& grpc, const std::string& rest) {
    auto loaded = policy::load_text(
        "test.yaml", "grpc: { listen: 127.0.0.1:1, " + grpc + " }\n" + rest, policy::Format::kYaml);
    ASSERT_TRUE(loaded.policy) << loaded.mistakes[0].to_line();
    start("limits: []\n");
    ASSERT_TRUE(engine_.install(*std::move(loaded.policy)));
  }
};

TEST_F(GrpcSectionTest, DescriptorKeysCanBeRenamed) {
  start_with("attributes: { remote_address: ip }",
             "limits: [{ name: ip, key: [ip], algorithm: fixed_window, limit: 1, window: 1m }]\n");
  const std::string one = request("d", {{{{"remote_address", "203.0.113.7"}}}});
  EXPECT_EQ(words(one), "OK [OK 1/MINUTE ip 0 60s]");
  EXPECT_EQ(words(one), "OVER_LIMIT [OVER_LIMIT 1/MINUTE ip 0 60s]");
}

TEST_F(GrpcSectionTest, AtomicChargesAllDescriptorsOrNone) {
  start_with(
      "atomic: true",
      "limits: [{ name: one, key: [user], algorithm: fixed_window, limit: 1, window: 1m }]\n");
  const std::string both = request("d", {{{{"user", "a"}}}, {{{"user", "b"}}}});
  EXPECT_EQ(words(request("d", {{{{"user", "b"}}}})), "OK [OK 1/MINUTE one 0 60s]");
  EXPECT_EQ(words(both), "OVER_LIMIT [OK 1/MINUTE one 1 0s] [OVER_LIMIT 1/MINUTE one 0 60s]");
  EXPECT_EQ(words(request("d", {{{{"user", "a"}}}})), "OK [OK 1/MINUTE one 0 60s]");
}

TEST_F(GrpcSectionTest, AResetThatIsNotKnownAfterAGiveBackIsNotTold) {
  start_with("atomic: true",
             "limits: [{ name: no, match: { user: no }, algorithm: fixed_window, limit: 0, window: "
             "1m }, { name: three, match: { user: yes }, algorithm: token_bucket, rate: 3/h, "
             "burst: 3 }]\n");
  const std::string both = request("d", {{{{"user", "yes"}}}, {{{"user", "no"}}}});
  EXPECT_EQ(words(both), "OVER_LIMIT [OK 3/HOUR three 3 0s] [OVER_LIMIT 0/MINUTE no 0 0s]");
  EXPECT_EQ(words(request("d", {{{{"user", "yes"}}}})), "OK [OK 3/HOUR three 2 1200s]");
  EXPECT_EQ(words(both), "OVER_LIMIT [OK 3/HOUR three 2] [OVER_LIMIT 0/MINUTE no 0 0s]");
  const std::string peek = request("d", {{{{"user", "yes"}}, {}, 0}, {{{"user", "no"}}}});
  EXPECT_EQ(words(peek), "OVER_LIMIT [OK 3/HOUR three 2 1200s] [OVER_LIMIT 0/MINUTE no 0 0s]");
}

TEST_F(RateLimitServiceTest, ARefusalByADescriptorsOwnLimitCarriesHeadersAndBodyToo) {
  start(kTwoAMinute);
  const Asked own{{{"user", "u"}}, rls::Override{1, rls::Unit::kMinute}};
  EXPECT_EQ(header_of(call(request("api", {own})).message(), "x-ratelimit-limit"), "1");
  const std::string refused = call(request("api", {{{{"user", "u"}}}, own})).message();
  EXPECT_EQ(in_words(refused), "OVER_LIMIT [OK 2/MINUTE api 1 60s] [OVER_LIMIT 1/MINUTE 0 60s]");
  EXPECT_EQ(header_of(refused, "x-ratelimit-limit"), "1");
  EXPECT_EQ(header_of(refused, "x-ratelimit-remaining"), "0");
  EXPECT_EQ(header_of(refused, "x-ratelimit-reset"), "1700000100");
  EXPECT_EQ(header_of(refused, "retry-after"), "60");
  EXPECT_EQ(header_of(refused, "content-type"), "application/json");
  EXPECT_NE(refused.find(R"("limit":"override","retry_after":60)"), std::string::npos);
  const Asked large{{{"user", "u"}}, rls::Override{1, rls::Unit::kMinute}, 2};
  const std::string never = call(request("api", {own, large})).message();
  EXPECT_EQ(header_of(never, "retry-after"), "");
  EXPECT_NE(never.find(R"("retry_after":null,"reason":"cost_exceeds_limit")"), std::string::npos);
}

TEST_F(RateLimitServiceTest, ABadEntryIsToldAsWhatItIs) {
  start(kTwoAMinute);
  EXPECT_EQ(call(request("api", {{{{"path", "/%zz"}}}})).text(),
            "descriptor entry path: path holds a %25 without two hexadecimal digits after it; send "
            "%2525 for a %25");
  EXPECT_EQ(call(request("api", {{{{"ip", "1.2.3"}}}})).text(),
            "descriptor entry ip: is no IP address");
}

TEST_F(RateLimitServiceTest, HealthAnswersForTheServerAndTheService) {
  start("limits: []\n");
  const auto check = [&](std::string_view service) {
    std::string message;
    Writer(message).text(1, service);
    return client_->call("/grpc.health.v1.Health/Check", message);
  };
  for (const char* service : {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"}) {
    EXPECT_EQ(check(service).message(), "\x08\x01") << service;
  }
  EXPECT_EQ(check("other").status(), "5");
  const auto id = client_->begin("/grpc.health.v1.Health/Watch", grpc_frame(""));
  EXPECT_EQ(client_->wait_for_data(id, 7).message(), "\x08\x01");
}

TEST_F(RateLimitServiceTest, ReflectionListsTheServices) {
  start("limits: []\n");
  for (const char* version : {"v1", "v1alpha"}) {
    const auto& call = client_->call(
        "/grpc.reflection." + std::string(version) + ".ServerReflection/ServerReflectionInfo",
        std::string("\x3A\x00", 2));
    EXPECT_EQ(call.status(), "0");
    EXPECT_NE(call.message().find(kRateLimitService), std::string::npos);
  }
}

TEST_F(RateLimitServiceTest, ReflectionDescribesAServiceAndSaysWhatIsNotThere) {
  start("limits: []\n");
  const auto ask = [&](std::uint32_t question, std::string_view name) {
    std::string message;
    Writer(message).text(question, name);
    return client_->call("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", message)
        .message();
  };
  EXPECT_NE(ask(4, kRateLimitService).find("ShouldRateLimit"), std::string::npos);
  EXPECT_NE(ask(3, "grpc/health/v1/health.proto").find("HealthCheckRequest"), std::string::npos);
  EXPECT_NE(ask(4, "no.such.Service").find("no such file or symbol"), std::string::npos);
  EXPECT_NE(ask(6, kRateLimitService).find("no extensions"), std::string::npos);
}

}  // namespace
}  // namespace weir::grpc
