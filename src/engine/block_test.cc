// What refuses a request before any limit is asked: `block`, and bans of the admin API.

#include <gtest/gtest.h>

#include "engine/answer.h"
#include "engine/check_json.h"
#include "engine/compiled_policy.h"
#include "engine/explain.h"
#include "engine/refusal_body.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

policy::Policy blocking(std::vector<policy::Block> blocks) {
  policy::Policy policy = policy_of({limit("all", bucket(2), {"ip"})});
  policy.block = std::move(blocks);
  policy.exempt.push_back(match({{"user", {"root"}}}));
  return policy;
}

policy::Block block_of(policy::Match match) {
  return {std::move(match), std::nullopt, false};
}

class BlockTest : public OverMemory {};

TEST_F(BlockTest, RefusesWithoutAskingTheLimits) {
  install(blocking({block_of(match({{"ip", {"203.0.113.0/24", "2001:db8::/32"}}})),
                    block_of(match({{"header.user-agent", {"BadBot*"}}, {"method", {"POST"}}}))}));
  const Decision refused = decide({{"ip", "203.0.113.7"}});
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.reason, Reason::kBlocked);
  EXPECT_TRUE(refused.limits.empty());
  EXPECT_EQ(refusal_status(refused), 403);
  EXPECT_EQ(retry_after_seconds(refused), std::nullopt);
  EXPECT_FALSE(allowed({{"ip", "2001:db8::1"}}));
  EXPECT_FALSE(
      allowed({{"ip", "192.0.2.1"}, {"header.user-agent", "BadBot/2"}, {"method", "POST"}}));
  EXPECT_TRUE(allowed({{"ip", "192.0.2.1"}, {"header.user-agent", "BadBot/2"}, {"method", "GET"}}));
  EXPECT_TRUE(allowed({{"ip", "192.0.2.1"}, {"method", "POST"}}));
  EXPECT_TRUE(allowed({{"ip", "203.0.112.255"}}));
}

TEST_F(BlockTest, WhoIsExemptIsNotBlocked) {
  install(blocking({block_of(match({{"ip", {"203.0.113.0/24"}}}))}));
  EXPECT_TRUE(allowed({{"ip", "203.0.113.7"}, {"user", "root"}}));
}

TEST_F(BlockTest, APathWithTwoReadingsIsBlockedByEither) {
  install(blocking({block_of(match({{"path", {"/admin/**"}}}))}));
  EXPECT_FALSE(allowed({{"path", "/admin/x"}}));
  EXPECT_FALSE(allowed({{"path", "/admin%2Fx"}}));
  EXPECT_TRUE(allowed({{"path", "/administer"}}));
}

TEST_F(BlockTest, APolicyInShadowModeBlocksAndRefusesNothing) {
  policy::Policy policy = blocking({block_of(match({{"ip", {"203.0.113.0/24"}}}))});
  policy.mode = policy::Mode::kShadow;
  install(policy);
  EXPECT_EQ(fates({{"ip", "203.0.113.7"}}, 4), "AAAA");
  EXPECT_TRUE(decide({{"ip", "203.0.113.7"}}).limits[0].shadow);
}

TEST_F(BlockTest, ABanTellsWhenItEndsAndEndsThen) {
  policy::Block ban = block_of(match({{"user", {"mallory"}}}));
  ban.ban = true;
  ban.until_ns = now_.wall_ns + 90'500'000'000;
  install(blocking({ban}));
  const TestRequest mallory{{"user", "mallory"}, {"ip", "192.0.2.1"}};
  const Decision refused = decide(mallory);
  EXPECT_EQ(refused.reason, Reason::kBanned);
  EXPECT_EQ(refusal_status(refused), 429);
  EXPECT_EQ(retry_after_seconds(refused), 91u);
  now_ = now_ + std::chrono::nanoseconds(90'499'999'999);
  EXPECT_FALSE(allowed(mallory));
  now_ = now_ + Duration(1);
  EXPECT_TRUE(allowed(mallory));
}

TEST_F(BlockTest, ItsAnswersNameNoLimit) {
  policy::Block ban = block_of(match({{"user", {"mallory"}}}));
  ban.ban = true;
  ban.until_ns = now_.wall_ns + 90'500'000'000;
  install(blocking({ban, block_of(match({{"user", {"bob"}}}))}));
  std::string body;
  append_refusal_body(decide({{"user", "bob"}}), body);
  EXPECT_EQ(body, R"({"code":"BLOCKED","message":"the request is blocked","limit":null,)"
                  R"("retry_after":null,"reason":"blocked"})");
  body.clear();
  append_refusal_body(decide({{"user", "mallory"}}), body);
  EXPECT_EQ(body, R"({"code":"RATE_LIMITED","message":"the client is banned, retry after 91s",)"
                  R"("limit":null,"retry_after":91,"reason":"banned"})");
  body.clear();
  append_check_json(decide({{"user", "mallory"}}), "", body);
  EXPECT_EQ(body, R"({"allowed":false,"limit":null,"quota":null,"remaining":null,)"
                  R"("retry_after":90.5,"reset_after":0,"delay":0,"source":"memory",)"
                  R"("reason":"banned","id":"","limits":[]})");
}

TEST_F(BlockTest, ExplainNamesTheEntry) {
  const auto policy = CompiledPolicy::make(blocking(
      {block_of(match({{"user", {"a"}}})), block_of(match({{"ip", {"203.0.113.0/24"}}}))}));
  ASSERT_TRUE(policy);
  EXPECT_EQ(explain(**policy, TestRequest{{"ip", "203.0.113.7"}}),
            "refused: entry 2 of block meets the request\n");
}

TEST_F(BlockTest, ExplainTellsTheBanOfALimit) {
  policy::Limit login = limit("login", bucket(2), {"ip"});
  login.ban =
      policy::Ban{5, std::chrono::minutes(1), std::chrono::minutes(10), std::chrono::hours(24)};
  const auto policy = CompiledPolicy::make(policy_of({login}));
  ASSERT_TRUE(policy);
  EXPECT_EQ(explain(**policy, TestRequest{{"ip", "203.0.113.7"}}),
            "login: counts ip=203.0.113.7 by token_bucket rate 1/s burst 2, cost 1, banned for 10m "
            "after 5 refusals within 1m\n");
}

TEST_F(BlockTest, WhoIsRefusedIsCountedAndToldOf) {
  metrics::Registry registry;
  Engine engine(store_, &registry);
  ASSERT_TRUE(engine.install(blocking({block_of(match({{"user", {"bob"}}}))})));
  int told = 0;
  engine.on_denied([&](const Attributes&, const Decision& decision) {
    told += decision.reason == Reason::kBlocked ? 1 : 0;
  });
  const TestRequest bob{{"user", "bob"}};
  engine.decide(bob, now_, std::nullopt, [](const Decision&) {});
  EXPECT_EQ(told, 1);
  EXPECT_NE(registry.to_text().find("weir_blocked_total{reason=\"blocked\"} 1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::engine
