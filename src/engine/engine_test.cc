// The engine over the memory store: what docs/policy.md says of limits, one sentence a test.

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "engine/compiled_policy.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

using std::chrono::seconds;

class EngineTest : public OverMemory {};

TEST_F(EngineTest, ARequestThatMeetsNoLimitIsAllowedAndNamesNone) {
  install(std::vector<policy::Limit>{});
  const Decision decision = decide({{"ip", "203.0.113.5"}});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(named(decision), "-");
  EXPECT_TRUE(decision.limits.empty());
}

TEST_F(EngineTest, EnabledFalseLimitsNothing) {
  policy::Policy policy = policy_of({limit("none", bucket(0))});
  policy.enabled = false;
  install(std::move(policy));
  const Decision decision = decide({});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.source, Source::kExempt);
}

TEST_F(EngineTest, NoKeyMeansOneCounterForAll) {
  install({limit("global", bucket(2))});
  EXPECT_TRUE(allowed({{"ip", "203.0.113.5"}}));
  EXPECT_TRUE(allowed({{"ip", "203.0.113.6"}}));
  EXPECT_FALSE(allowed({{"ip", "203.0.113.7"}}));
}

TEST_F(EngineTest, AllNamedAttributesMustHoldAndAMissingOneNeverDoes) {
  policy::Limit login = limit("login", bucket(0));
  login.match = match({{"method", {"POST", "PUT"}}, {"path", {"/login"}}, {"header.x-a", {"*"}}});
  install({login});
  EXPECT_FALSE(allowed({{"method", "POST"}, {"path", "/login"}, {"header.x-a", ""}}));
  EXPECT_FALSE(allowed({{"method", "PUT"}, {"path", "/login"}, {"header.x-a", "1"}}));
  EXPECT_TRUE(allowed({{"method", "POST"}, {"path", "/login"}}));
  EXPECT_TRUE(allowed({{"method", "POST"}, {"header.x-a", "1"}}));
  EXPECT_TRUE(allowed({{"method", "GET"}, {"path", "/login"}, {"header.x-a", "1"}}));
}

TEST_F(EngineTest, ExceptTakesARequestOutOfOneLimitAgain) {
  policy::Limit api = limit("api", bucket(0));
  api.match = match({{"path", {"/api/**"}}});
  api.except = {match({{"path", {"/api/open"}}, {"method", {"GET"}}}),
                match({{"ip", {"10.0.0.0/8"}}})};
  install({api});
  EXPECT_FALSE(allowed({{"path", "/api/x"}, {"method", "GET"}}));
  EXPECT_TRUE(allowed({{"path", "/api/open"}, {"method", "GET"}}));
  EXPECT_FALSE(allowed({{"path", "/api/open"}, {"method", "POST"}}));
  EXPECT_TRUE(allowed({{"path", "/api/x"}, {"ip", "10.1.2.3"}}));
}

TEST_F(EngineTest, ExemptTakesARequestOutOfAllLimits) {
  policy::Policy policy = policy_of({limit("global", bucket(0))});
  policy.exempt = {match({{"path", {"/health"}}}),
                   match({{"method", {"POST"}}, {"path", {"/refresh", "/logout"}}})};
  install(std::move(policy));
  EXPECT_EQ(decide({{"path", "/health"}}).source, Source::kExempt);
  EXPECT_TRUE(allowed({{"path", "/logout"}, {"method", "POST"}}));
  EXPECT_FALSE(allowed({{"path", "/logout"}, {"method", "GET"}}));
  EXPECT_FALSE(allowed({{"path", "/healthy"}}));
}

TEST_F(EngineTest, HeadCountsAsGetAndOtherMethodsAsThemselves) {
  policy::Limit get = limit("get", bucket(1), {"method"});
  get.match = match({{"method", {"GET"}}});
  install({get});
  EXPECT_TRUE(allowed({{"method", "HEAD"}}));
  EXPECT_FALSE(allowed({{"method", "GET"}}));
  EXPECT_TRUE(allowed({{"method", "get"}}));
  EXPECT_TRUE(allowed({{"method", "POST"}}));
}

TEST_F(EngineTest, AnEncodedSlashLeadsNeitherOutOfALimitNorIntoAnException) {
  policy::Limit login = limit("login", bucket(0));
  login.match = match({{"path", {"/login"}}});
  policy::Policy policy = policy_of({login});
  policy.exempt = {match({{"path", {"/open/**"}}})};
  install(std::move(policy));
  EXPECT_FALSE(allowed({{"path", "/open%2F..%2Flogin"}}));
  EXPECT_FALSE(allowed({{"path", "/open/x%2F..%2F..%2Flogin"}}));
  EXPECT_EQ(decide({{"path", "/open/a%2Fb"}}).source, Source::kExempt);
}

TEST_F(EngineTest, TheFirstPresentOfAKeyPartCountsApart) {
  install({limit("query", bucket(1), {"user|ip"})});
  EXPECT_EQ(fates({{"user", "203.0.113.5"}}, 2), "AD");
  EXPECT_EQ(fates({{"ip", "203.0.113.5"}}, 2), "AD");
  EXPECT_EQ(fates({{"user", "203.0.113.5"}, {"ip", "203.0.113.5"}}, 1), "D");
}

// Counted by prefix, matched as a whole.
TEST_F(EngineTest, AddressesCountByPrefixAndMatchWhole) {
  policy::Limit per_ip = limit("per_ip", bucket(1), {"ip"});
  per_ip.except = {match({{"ip", {"2001:db8:1:2::9"}}})};
  install({per_ip});
  EXPECT_TRUE(allowed({{"ip", "2001:db8:1:2::1"}}));
  EXPECT_FALSE(allowed({{"ip", "2001:db8:1:2:a:b:c:d"}}));
  EXPECT_TRUE(allowed({{"ip", "2001:0DB8:0001:0002:0::9"}}));
  EXPECT_TRUE(allowed({{"ip", "2001:db8:1:3::1"}}));
  EXPECT_TRUE(allowed({{"ip", "203.0.113.5"}}));
  EXPECT_FALSE(allowed({{"ip", "::ffff:203.0.113.5"}}));
  EXPECT_TRUE(allowed({{"ip", "203.0.113.6"}}));
}

TEST_F(EngineTest, AMissingKeyIsSkippedSharedOrDenied) {
  policy::Limit skip = limit("skip", bucket(0), {"user"});
  policy::Limit share = limit("share", bucket(2), {"user"});
  share.missing = policy::Missing::kShare;
  install({skip, share});
  EXPECT_EQ(fates({}, 3), "AAD");
  EXPECT_EQ(decide({{"user", ""}}, 1).named_limit()->name, "skip");

  policy::Limit global = limit("global", bucket(5));
  policy::Limit deny = limit("deny", bucket(5), {"user"});
  deny.missing = policy::Missing::kDeny;
  install({global, deny});
  const Decision decision = decide({});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kMissingKey);
  EXPECT_EQ(named(decision), "deny");
  EXPECT_EQ(decide({{"user", "u"}}).limits[0].verdict.remaining, 4u) << "nothing was charged";
}

TEST_F(EngineTest, AShadowLimitThatWantsAKeyNeverDenies) {
  policy::Limit shadow = limit("shadow", bucket(5), {"user"});
  shadow.missing = policy::Missing::kDeny;
  shadow.mode = policy::Mode::kShadow;
  install({shadow, limit("global", bucket(1))});
  const Decision decision = decide({});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(named(decision), "global");
  EXPECT_EQ(decision.limits[0].reason, Reason::kMissingKey);
}

TEST_F(EngineTest, OverridesBeatTiersAndTiersBeatTheLimitEachWithItsOwnCounter) {
  policy::Limit query = limit("query", bucket(1), {"user"});
  query.tiers = {{"premium", {bucket(2)}}, {"internal", {Unlimited{}}}};
  query.overrides = {{{"user-42"}, {bucket(3)}}};
  install({query});
  EXPECT_EQ(fates({{"user", "u"}}, 2), "AD");
  EXPECT_EQ(fates({{"user", "u"}, {"tier", "unheard-of"}}, 1), "D");
  EXPECT_EQ(fates({{"user", "u"}, {"tier", "premium"}}, 3), "AAD") << "a change of tier is fresh";
  EXPECT_EQ(fates({{"user", "u"}, {"tier", "internal"}}, 9), "AAAAAAAAA");
  EXPECT_EQ(fates({{"user", "user-42"}, {"tier", "premium"}}, 4), "AAAD");
  EXPECT_EQ(fates({{"user", "user-42"}, {"tier", "internal"}}, 1), "D");
}

TEST_F(EngineTest, AnOverrideOfAnAddressIsForTheAddressOnly) {
  policy::Limit query = limit("query", bucket(1), {"user|ip"});
  query.overrides = {{{"2001:DB8::1"}, {bucket(3)}}, {{"203.0.113.5"}, {bucket(2)}}};
  install({query});
  EXPECT_EQ(fates({{"ip", "2001:db8::ffff"}}, 4), "AAAD");
  EXPECT_EQ(fates({{"ip", "203.0.113.5"}}, 3), "AAD");
  EXPECT_EQ(fates({{"user", "203.0.113.5"}}, 2), "AD");
}

TEST_F(EngineTest, RefusesOverridesThatNoKeyFitsOrThatMeet) {
  policy::Limit query = limit("query", bucket(1), {"ip"});
  query.overrides = {{{"a", "b"}, {bucket(3)}}};
  EXPECT_EQ(
      engine_.install(policy_of({query})).error().message,
      "limit query: override for [a, b] can fit no key of this limit; give one value for each "
      "part of `key`");
  query.overrides = {{{"nobody"}, {bucket(3)}}};
  EXPECT_FALSE(engine_.install(policy_of({query})).has_value());
  query.overrides = {{{"2001:db8::1"}, {bucket(3)}}, {{"2001:db8::2"}, {bucket(3)}}};
  EXPECT_EQ(engine_.install(policy_of({query})).error().message,
            "limit query: override for [2001:db8::2] counts a key that an earlier override counts; "
            "keep one of them");
}

TEST_F(EngineTest, SeveralLimitsAreChargedTogetherOrNotAtAll) {
  install({limit("global", bucket(100)), limit("per_ip", bucket(1), {"ip"})});
  EXPECT_EQ(fates({{"ip", "203.0.113.5"}}, 100), "A" + std::string(99, 'D'));
  const Decision other = decide({{"ip", "203.0.113.6"}});
  EXPECT_EQ(other.limits[0].verdict.remaining, 98u);
}

TEST_F(EngineTest, NamesTheDenyingLimitWithTheLongestWait) {
  install({limit("minute", bucket(60, seconds(1))), limit("hour", bucket(5, seconds(720)))});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(named(decide({})), "hour") << "the smaller share";
  const Decision fifth = decide({});
  EXPECT_TRUE(fifth.allowed);
  EXPECT_EQ(fifth.named_limit()->verdict.quota, 5u);
  EXPECT_EQ(fifth.named_limit()->verdict.remaining, 0u);
  const Decision sixth = decide({});
  EXPECT_FALSE(sixth.allowed);
  EXPECT_EQ(named(sixth), "hour");
  EXPECT_EQ(sixth.named_limit()->verdict.retry_after, seconds(720));
  EXPECT_EQ(sixth.limits[0].verdict.remaining, 55u) << "an admitting limit stays uncharged";

  install({limit("short", bucket(1, seconds(10))), limit("long", bucket(1, seconds(20)))});
  EXPECT_EQ(named(decide({})), "short") << "ties by file order";
  EXPECT_EQ(named(decide({})), "long");
}

TEST_F(EngineTest, NamesACostAboveTheQuotaBeforeAnyWait) {
  install({limit("wait", bucket(100, seconds(3600))), limit("never", bucket(5))});
  EXPECT_TRUE(decide({}, 5).allowed);
  const Decision decision = decide({}, 6);
  EXPECT_EQ(named(decision), "never");
  EXPECT_EQ(decision.reason, Reason::kCostExceedsLimit);
  EXPECT_EQ(decision.limits[0].verdict.remaining, 95u);
}

TEST_F(EngineTest, ComparesSharesExactly) {
  constexpr std::uint64_t kBig = 1'000'000'000'000'000'000;
  // 1 - 1/kBig and 1 - 1/(kBig + 1): equal as floating point.
  install({limit("a", TokenBucket{Rate{kBig, seconds(1)}, kBig + 1}),
           limit("b", TokenBucket{Rate{kBig, seconds(1)}, kBig})});
  EXPECT_EQ(named(decide({})), "b");
}

TEST_F(EngineTest, NamesNeitherUnlimitedNorShadowLimits) {
  policy::Limit shadow = limit("shadow", bucket(1, seconds(100)));
  shadow.mode = policy::Mode::kShadow;
  install({limit("free", Unlimited{}), shadow, limit("global", bucket(3))});
  for (int i = 0; i < 3; ++i) {
    const Decision decision = decide({});
    EXPECT_TRUE(decision.allowed);
    EXPECT_EQ(named(decision), "global");
    EXPECT_EQ(decision.limits.size(), 3u);
    EXPECT_EQ(decision.limits[1].verdict.allowed(), i == 0) << "charged once, then it would refuse";
  }
  EXPECT_EQ(named(decide({})), "global");
}

TEST_F(EngineTest, AShadowLimitIsChargedOnlyWhenTheRequestIsAdmitted) {
  policy::Limit shadow = limit("shadow", bucket(10));
  shadow.mode = policy::Mode::kShadow;
  install({shadow, limit("closed", bucket(0))});
  decide({});
  EXPECT_EQ(decide({}).limits[0].verdict.remaining, 10u);
}

TEST_F(EngineTest, OnlyUnlimitedLimitsMetNamesNone) {
  install({limit("free", Unlimited{}, {"ip"})});
  const Decision decision = decide({{"ip", "203.0.113.5"}});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(named(decision), "-");
  EXPECT_EQ(decision.limits.size(), 1u);
}

TEST_F(EngineTest, SeveralPairsOfNumbersAreOneDecision) {
  policy::Limit both = limit("both", bucket(2, seconds(1)));
  both.numbers.push_back(bucket(3, seconds(60)));
  install({both});
  EXPECT_EQ(fates({}, 3), "AAD");
  now_ = now_ + seconds(2);
  EXPECT_EQ(fates({}, 1), "A");
  const Decision decision = decide({});
  EXPECT_FALSE(decision.allowed);
  ASSERT_EQ(decision.limits.size(), 1u);
  EXPECT_EQ(decision.named_limit()->verdict.quota, 3u);
  EXPECT_EQ(decision.named_limit()->verdict.retry_after, seconds(58));
}

TEST_F(EngineTest, CostComesFromTheCallTheLimitOrAnAttribute) {
  policy::Limit tokens = limit("tokens", bucket(100));
  tokens.cost.from = attribute("header.x-tokens");
  tokens.cost.max_cost = 50;
  install({tokens});
  const auto cost_of = [&](const char* text) {
    return decide({{"header.x-tokens", text}}).limits[0].cost;
  };
  const struct {
    const char* text;
    std::uint64_t cost;
  } table[] = {
      {"7", 7},   {"0", 1},
      {"-5", 1},  {"2.5", 3},
      {"2.0", 2}, {"3.", 1},
      {".5", 1},  {"1e3", 1},
      {"abc", 1}, {"", 1},
      {" 7", 1},  {"51", 50},
      {"007", 7}, {"99999999999999999999999", 50},
  };
  for (const auto& row : table) EXPECT_EQ(cost_of(row.text), row.cost) << row.text;
  EXPECT_EQ(decide({}).limits[0].cost, 1u);
  EXPECT_EQ(decide({{"header.x-tokens", "7"}}, 2).limits[0].cost, 2u);

  policy::Limit three = limit("three", bucket(7));
  three.cost.fixed = 3;
  install({three});
  EXPECT_EQ(fates({}, 3), "AAD");
}

TEST_F(EngineTest, CostZeroIsAPeek) {
  install({limit("global", bucket(1))});
  EXPECT_TRUE(decide({}, 0).allowed);
  EXPECT_EQ(decide({}, 0).limits[0].verdict.remaining, 1u);
  decide({});
  const Decision peek = decide({}, 0);
  EXPECT_TRUE(peek.allowed);
  EXPECT_EQ(peek.limits[0].verdict.remaining, 0u);
}

TEST_F(EngineTest, ALimitThatNamesMessageIsForMessagesAndNothingElse) {
  policy::Limit any = limit("any", bucket(1));
  any.match = match({{"message", {"*"}}});
  install({any, limit("requests", bucket(1))});
  EXPECT_EQ(named(decide({{"path", "/ws"}})), "requests");
  EXPECT_FALSE(allowed({{"path", "/ws"}}));
  EXPECT_EQ(named(decide({{"path", "/ws"}, {"message", "query"}})), "any");
  EXPECT_FALSE(allowed({{"message", "query"}}));
}

TEST_F(EngineTest, CountersOutliveAReloadAndABadPolicyChangesNothing) {
  install({limit("global", bucket(2))});
  decide({});
  const auto before = engine_.current();
  policy::Limit bad = limit("bad", TokenBucket{Rate{1, std::chrono::hours(24 * 365)}, 1'000'000});
  const auto refused = engine_.install(policy_of({limit("global", bucket(9)), bad}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.rfind("limit bad: ", 0), 0u) << refused.error().message;
  EXPECT_EQ(engine_.current(), before);
  install({limit("first", bucket(100)), limit("global", bucket(2))});
  EXPECT_EQ(decide({}).limits[1].verdict.remaining, 0u);
}

TEST_F(EngineTest, ADecisionKeepsThePolicyItWasMadeUnder) {
  install({limit("old", bucket(2), {"ip"})});
  const Decision decision = decide({{"ip", "203.0.113.5"}});
  install({limit("new", bucket(2))});
  EXPECT_EQ(decision.limits[0].name, "old");
  EXPECT_EQ(decision.key_of(decision.limits[0]), "2:ip,11:203.0.113.5,");
}

TEST_F(EngineTest, AThreadLetsGoOfThePolicyBeforeWhenItAsksAgain) {
  install({limit("old", bucket(2), {"ip"})});
  const std::weak_ptr<const CompiledPolicy> old = engine_.current();
  allowed({{"ip", "203.0.113.5"}});
  std::promise<void> decided;
  std::promise<void> installed;
  std::promise<void> asked_again;
  std::thread other([&] {
    allowed({{"ip", "203.0.113.5"}});
    decided.set_value();
    installed.get_future().wait();
    EXPECT_FALSE(old.expired());  // by this thread alone
    EXPECT_EQ(engine_.current()->policy().limits[0].name, "new");
    asked_again.set_value();
  });
  decided.get_future().wait();
  install({limit("new", bucket(2))});
  installed.set_value();
  asked_again.get_future().wait();
  EXPECT_TRUE(old.expired());
  other.join();
}

TEST_F(EngineTest, AnEngineAtTheAddressOfAnotherHasNoneOfItsPolicy) {
  std::optional<Engine> engine(store_);
  ASSERT_TRUE(engine->install(policy_of({limit("a", bucket(2))})));
  EXPECT_NE(engine->current(), nullptr);
  engine.emplace(store_);
  EXPECT_EQ(engine->current(), nullptr);
}

TEST_F(EngineTest, ARequestThatMeetsMoreCountersThanOneChargeTakesIsRefused) {
  std::vector<policy::Limit> limits;
  for (int i = 0; i < 65; ++i) limits.push_back(limit("l" + std::to_string(i), bucket(9)));
  EXPECT_FALSE(engine_.install(policy_of(limits)).has_value());
  for (auto& one : limits) one.match = match({{"path", {"/x"}}});
  install(limits);
  const Decision decision = decide({{"path", "/x"}});
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, Reason::kLimiterUnavailable);
  limits.pop_back();
  install(limits);
  EXPECT_TRUE(allowed({{"path", "/x"}}));
}

}  // namespace
}  // namespace weir::engine
