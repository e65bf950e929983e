// What is said of a decision, to the byte.

#include "engine/answer.h"
#include "engine/check_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "engine/rate_limit_item.h"
#include "engine/refusal_body.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class AnswerTest : public OverMemory {
 protected:
  Decision decide(const TestRequest& request = {}, std::optional<std::uint64_t> cost = {}) {
    return OverMemory::decide(request, cost);
  }
  Decision refused() {
    for (int i = 0; i < 1000; ++i) {
      if (Decision decision = decide(); !decision.allowed) return decision;
    }
    ADD_FAILURE() << "nothing was refused";
    return decide();
  }
  static std::string headers(const Decision& decision) {
    AnswerHeaders headers;
    headers.fill(decision);
    std::string out;
    headers.append_to(out);
    return out;
  }
  static std::string body(const Decision& decision) {
    std::string out;
    append_refusal_body(decision, out);
    return out;
  }
  static std::string json(const Decision& decision) {
    std::string out;
    append_check_json(decision, "d-1", out);
    return out;
  }
};

policy::Limit login() {
  return limit("login", bucket(5, seconds(10)));
}

TEST_F(AnswerTest, AnAdmittedRequestIsToldWhatIsLeft) {
  install({login()});
  EXPECT_EQ(headers(decide()),
            "X-RateLimit-Limit: 5\r\n"
            "X-RateLimit-Remaining: 4\r\n"
            "X-RateLimit-Reset: 1700000010\r\n"
            "RateLimit-Policy: \"login\";q=5;w=50\r\n"
            "RateLimit: \"login\";r=4;t=10\r\n");
}

TEST_F(AnswerTest, ARefusedRequestIsToldWhenToComeBack) {
  install({login()});
  const Decision decision = refused();
  EXPECT_EQ(refusal_status(decision), 429);
  EXPECT_EQ(headers(decision),
            "X-RateLimit-Limit: 5\r\n"
            "X-RateLimit-Remaining: 0\r\n"
            "X-RateLimit-Reset: 1700000010\r\n"
            "RateLimit-Policy: \"login\";q=5;w=50\r\n"
            "RateLimit: \"login\";r=0;t=10\r\n"
            "Retry-After: 10\r\n");
  EXPECT_EQ(body(decision),
            "{\"code\":\"RATE_LIMITED\",\"message\":\"too many requests, retry after 10s\","
            "\"limit\":\"login\",\"retry_after\":10}");
}

// Whole seconds, rounded up, at least 1; one of exactly 2 s stays 2.
TEST_F(AnswerTest, RetryAfterIsRoundedUpAndNeverZero) {
  install({login()});
  Decision decision = refused();
  const struct {
    Duration wait;
    const char* seconds;
    const char* reset;
  } table[] = {
      {nanoseconds(0), "1", "1700000000"},
      {nanoseconds(1), "1", "1700000001"},
      {milliseconds(250), "1", "1700000001"},
      {seconds(1), "1", "1700000001"},
      {seconds(1) + nanoseconds(1), "2", "1700000002"},
      {seconds(2), "2", "1700000002"},
      {seconds(86400), "86400", "1700086400"},
  };
  for (const auto& row : table) {
    decision.limits[0].verdict.retry_after = row.wait;
    const std::string said = headers(decision);
    EXPECT_NE(said.find(std::string("Retry-After: ") + row.seconds + "\r\n"), std::string::npos)
        << said;
    EXPECT_NE(said.find(std::string("X-RateLimit-Reset: ") + row.reset + "\r\n"), std::string::npos)
        << said;
    EXPECT_NE(said.find(std::string("r=0;t=") + row.seconds + "\r\n"), std::string::npos) << said;
    EXPECT_NE(body(decision).find(std::string("\"retry_after\":") + row.seconds + "}"),
              std::string::npos);
  }
}

TEST_F(AnswerTest, ARefusalCarriesTheNumbersOfTheLimitThatRefused) {
  install({limit("minute", SlidingCounter{60, seconds(60), Align::kFirst}),
           limit("hour", SlidingCounter{5, seconds(3600), Align::kFirst})});
  for (int i = 0; i < 4; ++i) decide();
  EXPECT_EQ(headers(decide()).substr(0, 48),
            "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 0\r\n");
  const Decision sixth = decide();
  ASSERT_FALSE(sixth.allowed);
  EXPECT_EQ(sixth.named_limit()->name, "hour");
  const std::string said = headers(sixth);
  EXPECT_NE(said.find("RateLimit-Policy: \"minute\";q=60;w=60, \"hour\";q=5;w=3600\r\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("RateLimit: \"minute\";r=55;t="), std::string::npos) << said;
  EXPECT_NE(said.find(", \"hour\";r=0;t=" + std::to_string(*retry_after_seconds(sixth))),
            std::string::npos)
      << said;
}

TEST_F(AnswerTest, OnlyTheFamiliesThatThePolicyAsksForAreSent) {
  policy::Policy policy = policy_of({login()});
  policy.response.headers = {policy::HeaderFamily::kRetryAfter};
  install(policy);
  EXPECT_EQ(headers(decide()), "");
  EXPECT_EQ(headers(refused()), "Retry-After: 10\r\n");
  policy.response.headers = {};
  install(policy);
  EXPECT_EQ(headers(refused()), "");
}

TEST_F(AnswerTest, EveryRefusalForQuotaHasTheConfiguredStatusAndFailureHasItsOwn) {
  policy::Policy policy = policy_of({login()});
  policy.response.status = 420;
  install(policy);
  Decision decision = refused();
  EXPECT_EQ(refusal_status(decision), 420);
  EXPECT_EQ(refusal_status(decide({}, 6)), 420);
  decision.reason = Reason::kLimiterUnavailable;
  EXPECT_EQ(refusal_status(decision), 503);
}

TEST_F(AnswerTest, ACostAboveTheQuotaHasNoRetryAfterAndSaysWhy) {
  install({login()});
  const Decision decision = decide({}, 6);
  EXPECT_EQ(headers(decision),
            "X-RateLimit-Limit: 5\r\n"
            "X-RateLimit-Remaining: 5\r\n"
            "X-RateLimit-Reset: 1700000000\r\n"
            "RateLimit-Policy: \"login\";q=5;w=50\r\n"
            "RateLimit: \"login\";r=5\r\n");
  EXPECT_EQ(
      body(decision),
      "{\"code\":\"RATE_LIMITED\",\"message\":\"the request costs more than the limit can ever "
      "hold\",\"limit\":\"login\",\"retry_after\":null,\"reason\":\"cost_exceeds_limit\"}");
}

TEST_F(AnswerTest, AMissingKeyHasNoNumbers) {
  policy::Limit users = limit("users", bucket(5), {"user"});
  users.missing = policy::Missing::kDeny;
  install({users});
  const Decision decision = decide();
  EXPECT_EQ(headers(decision), "");
  EXPECT_EQ(body(decision),
            "{\"code\":\"RATE_LIMITED\",\"message\":\"the request lacks what the limit counts by\","
            "\"limit\":\"users\",\"retry_after\":null,\"reason\":\"missing_key\"}");
}

TEST_F(AnswerTest, AFailedStoreIs503WithRetryAfterAndNoNumbers) {
  install({login()});
  Decision decision = refused();
  LimitDecision& failed = decision.limits[0];
  failed.verdict = Verdict{};
  failed.verdict.outcome = Outcome::kNever;
  decision.source = failed.source = Source::kFailClosed;
  decision.reason = failed.reason = Reason::kLimiterUnavailable;
  EXPECT_EQ(headers(decision), "Retry-After: 1\r\n");
  EXPECT_EQ(body(decision),
            "{\"code\":\"LIMITER_UNAVAILABLE\",\"message\":\"the rate limiter cannot decide now, "
            "retry after 1s\",\"limit\":\"login\",\"retry_after\":1}");
}

TEST_F(AnswerTest, UnlimitedShadowAndNothingMetAreNotListed) {
  policy::Limit shadow = limit("shadow", bucket(0));
  shadow.mode = policy::Mode::kShadow;
  policy::Policy policy = policy_of({limit("free", Unlimited{}), shadow});
  install(policy);
  EXPECT_EQ(headers(decide()), "");
  policy.response.shadow_header = true;
  install(policy);
  EXPECT_EQ(headers(decide()), "X-RateLimit-Shadow: shadow\r\n");
}

TEST_F(AnswerTest, ListsAtMostEightLimitsInFileOrderWithTheNamedOneAmongThem) {
  std::vector<policy::Limit> limits;
  for (char c = 'a'; c < 'k'; ++c) limits.push_back(limit(std::string(1, c), bucket(100)));
  limits.push_back(limit("z", bucket(2)));
  install(limits);
  const std::string said = headers(decide());
  EXPECT_NE(said.find("RateLimit: \"a\";r=99;t=1, \"b\";r=99;t=1, \"c\";r=99;t=1, \"d\";r=99;t=1, "
                      "\"e\";r=99;t=1, \"f\";r=99;t=1, \"g\";r=99;t=1, \"z\";r=1;t=1\r\n"),
            std::string::npos)
      << said;
  limits.erase(limits.begin() + 8, limits.end());
  install(limits);
  EXPECT_NE(headers(decide()).find("\"h\";r=98;t=1\r\n"), std::string::npos);
}

TEST(RateLimitItem, SaysWhatALimitAllows) {
  const auto hours = [](int n) { return Duration(std::chrono::hours(n)); };
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const struct {
    Numbers numbers;
    std::uint64_t quota;
    const char* item;
  } table[] = {
      {TokenBucket{{1, seconds(10)}, 5}, 5, "\"n\";q=5;w=50"},
      {TokenBucket{{1, seconds(3)}, 5}, 5, "\"n\";q=5;w=15"},
      {TokenBucket{{3, seconds(1)}, 5}, 5, "\"n\";q=5;w=2"},
      {TokenBucket{{100, seconds(1)}, 100}, 100, "\"n\";q=100;w=1"},
      {TokenBucket{{100, seconds(1)}, 50}, 50, "\"n\";q=100;w=1"},
      {TokenBucket{{7, seconds(2)}, 2}, 2, "\"n\";q=3;w=1"},
      {TokenBucket{{1, hours(720)}, 1}, 1, "\"n\";q=1;w=2592000"},
      {TokenBucket{{0, seconds(1)}, 5}, 5, "\"n\";q=5"},
      {TokenBucket{{1, seconds(1)}, 0}, 0, "\"n\";q=0"},
      {TokenBucket{{kMax, seconds(1)}, kMax}, kMax, "\"n\";q=999999999999999;w=1"},
      {LeakyBucket{{1, seconds(2)}, 9}, 10, "\"n\";q=10;w=20"},
      {LeakyBucket{{100, seconds(1)}, 9}, 10, "\"n\";q=10;w=1"},
      {FixedWindow{100, seconds(60)}, 100, "\"n\";q=100;w=60"},
      {FixedWindow{100, Calendar{CalendarUnit::kDay, "Asia/Shanghai"}}, 100, "\"n\";q=100;w=86400"},
      {SlidingLog{100, milliseconds(1500)}, 100, "\"n\";q=100;w=2"},
      {SlidingCounter{100, seconds(60)}, 100, "\"n\";q=100;w=60"},
      {Concurrency{10, seconds(60)}, 10, "\"n\";q=10;qu=\"concurrent-requests\""},
  };
  for (const auto& row : table) {
    std::string item;
    append_policy_item(item, "n", row.numbers, row.quota);
    EXPECT_EQ(item, row.item);
  }
}

TEST_F(AnswerTest, JitterOnlyLengthensAndSaysOneThingEverywhere) {
  policy::Policy policy = policy_of({limit("login", bucket(1, seconds(10)), {"ip"})});
  policy.response.retry_jitter = seconds(30);
  install(policy);
  std::uint64_t least = 1000;
  std::uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string ip = "203.0.113." + std::to_string(i);
    decide({{"ip", ip}});
    const Decision decision = decide({{"ip", ip}});
    const std::uint64_t wait = *retry_after_seconds(decision);
    EXPECT_NE(headers(decision).find("r=0;t=" + std::to_string(wait)), std::string::npos);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 10u);
  EXPECT_LE(most, 40u);
  EXPECT_GT(most, least + 10) << "clients are spread";
}

TEST_F(AnswerTest, TheCheckApiSaysEverythingExactly) {
  policy::Limit shadow = limit("shadow", bucket(0));
  shadow.mode = policy::Mode::kShadow;
  install({limit("login", bucket(5, seconds(10)), {"ip"}), limit("free", Unlimited{}), shadow});
  const TestRequest request = {{"ip", "203.0.113.7"}};
  for (int i = 0; i < 5; ++i) decide(request);
  now_ = now_ + milliseconds(600);
  EXPECT_EQ(
      json(decide(request)),
      "{\"allowed\":false,\"limit\":\"login\",\"quota\":5,\"remaining\":0,\"retry_after\":9.4,"
      "\"reset_after\":49.4,\"delay\":0,\"source\":\"memory\",\"reason\":\"\",\"id\":\"d-1\","
      "\"limits\":["
      "{\"allowed\":false,\"limit\":\"login\",\"quota\":5,\"remaining\":0,\"retry_after\":9.4,"
      "\"reset_after\":49.4,\"delay\":0,\"source\":\"memory\",\"reason\":\"\"},"
      "{\"allowed\":true,\"limit\":\"free\",\"quota\":null,\"remaining\":null,"
      "\"retry_after\":0,\"reset_after\":0,\"delay\":0,\"source\":\"memory\",\"reason\":\"\"},"
      "{\"allowed\":false,\"limit\":\"shadow\",\"quota\":0,\"remaining\":0,"
      "\"retry_after\":null,\"reset_after\":0,\"delay\":0,\"source\":\"memory\","
      "\"reason\":\"cost_exceeds_limit\",\"shadow\":true}]}");
}

TEST_F(AnswerTest, TheCheckApiNamesNothingWhereNoLimitWasMet) {
  policy::Policy policy = policy_of({login()});
  policy.exempt = {match({{"path", {"/health"}}})};
  install(policy);
  EXPECT_EQ(json(decide({{"path", "/health"}})),
            "{\"allowed\":true,\"limit\":null,\"quota\":null,\"remaining\":null,\"retry_after\":0,"
            "\"reset_after\":0,\"delay\":0,\"source\":\"exempt\",\"reason\":\"\",\"id\":\"d-1\","
            "\"limits\":[]}");
}

TEST_F(AnswerTest, ExactSecondsHaveAtMostNineDecimals) {
  const struct {
    Duration duration;
    const char* text;
  } table[] = {
      {nanoseconds(0), "0"},
      {nanoseconds(1), "0.000000001"},
      {nanoseconds(999'999'999), "0.999999999"},
      {seconds(1), "1"},
      {milliseconds(9400), "9.4"},
      {nanoseconds(1'000'000'010), "1.00000001"},
      {Duration::max(), "9223372036.854775807"},
  };
  for (const auto& row : table) {
    std::string text;
    append_exact_seconds(text, row.duration);
    EXPECT_EQ(text, row.text);
  }
}

TEST_F(AnswerTest, EveryBodyIsJson) {
  install({login()});
  for (const std::string& text :
       {body(refused()), body(decide({}, 6)), json(refused()), json(decide({}, 0))}) {
    EXPECT_TRUE(parse_json(text).has_value()) << text;
  }
}

TEST_F(AnswerTest, RemainingStaysBetweenZeroAndTheQuota) {
  install({limit("two", bucket(2))});
  for (int i = 0; i < 10; ++i) EXPECT_LE(decide().named_limit()->verdict.remaining, 2u);
  now_ = now_ + seconds(1);
  EXPECT_EQ(decide({}, 5).named_limit()->verdict.remaining, 1u);
}

TEST_F(AnswerTest, KnowsTheHeadersThatReplaceAnUpstreams) {
  const struct {
    const char* name;
    bool ours;
  } table[] = {
      {"RateLimit", true},        {"ratelimit-remaining", true}, {"RateLimit-Policy", true},
      {"X-RateLimit-Used", true}, {"x-ratelimit-limit", true},   {"X-RateLimit", false},
      {"RateLimited", false},     {"Retry-After", false},        {"", false},
  };
  for (const auto& row : table) EXPECT_EQ(is_rate_limit_header(row.name), row.ours) << row.name;
}

}  // namespace
}  // namespace weir::engine
