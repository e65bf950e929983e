// The engine over a scripted store: answers that come later, and answers that never are known
// (`on_error`: a definite denial, then `deny`, then `allow`).

#include <gtest/gtest.h>

#include "engine/answer.h"
#include "engine/check_json.h"
#include "engine/engine.h"
#include "engine/local_share.h"
#include "engine/receipt.h"
#include "engine/test_request.h"

namespace weir::engine {
namespace {

using policy::OnError;
using store::Answer;
using store::Charge;

// Answers what the test says, when the test says.
class ScriptedStore final : public store::Store {
 public:
  void charge(std::span<const Charge> charges, Instant, std::span<Answer> answers,
              Done done) override {
    asked.assign(charges.begin(), charges.end());
    answers_ = answers;
    done_ = std::move(done);
  }
  void correct(std::span<const Charge> charges, const std::optional<store::Once>&, Instant,
               Corrected told) override {
    for (const Charge& charge : charges) refunded.push_back(std::string(charge.counter));
    if (told) told({});
  }
  void reset(std::span<const Charge>, Corrected) override {}

  void answer(const std::vector<Answer>& answers, bool admitted, Instant at) {
    std::copy(answers.begin(), answers.end(), answers_.begin());
    const Done done = std::move(done_);
    done({admitted, at});
  }

  std::vector<Charge> asked;
  std::vector<std::string> refunded;

 private:
  std::span<Answer> answers_;
  Done done_;
};

Answer admits() {
  Answer answer;
  answer.verdict.quota = 5;
  answer.verdict.remaining = 4;
  answer.source = Source::kRedis;
  return answer;
}

Answer denies() {
  Answer answer = admits();
  answer.verdict.outcome = Outcome::kDenied;
  answer.verdict.retry_after = std::chrono::seconds(3);
  return answer;
}

Answer unknown() {
  Answer answer;
  answer.known = false;
  return answer;
}

policy::Limit limit_on_error(std::string name, std::optional<OnError> on_error) {
  policy::Limit one = limit(std::move(name), bucket(5));
  one.on_error = on_error;
  return one;
}

class EngineFailureTest : public testing::Test {
 protected:
  Decision decide(std::vector<policy::Limit> limits, const std::vector<Answer>& answers,
                  bool admitted, OnError store_default = OnError::kAllow) {
    policy::Policy policy = policy_of(std::move(limits));
    policy.store.on_error = store_default;
    EXPECT_TRUE(engine_.install(std::move(policy)).has_value());
    Decision answer;
    int told = 0;
    const TestRequest request = {};
    engine_.decide(request, at_ns(7), std::nullopt, [&](Decision decision) {
      answer = std::move(decision);
      ++told;
    });
    EXPECT_EQ(told, 0) << "nothing is told before the store has answered";
    store_.answer(answers, admitted, at_ns(9));
    EXPECT_EQ(told, 1);
    return answer;
  }
  static std::string named(const Decision& decision) {
    return decision.named_limit() ? std::string(decision.named_limit()->name) : "-";
  }

  ScriptedStore store_;
  Engine engine_{store_};
};

TEST_F(EngineFailureTest, TellsTheDecisionWhenTheStoreAnswersLater) {
  const Decision decision = decide({limit("a", bucket(5))}, {admits()}, true);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.source, Source::kRedis);
  EXPECT_EQ(decision.at, at_ns(9));
}

TEST_F(EngineFailureTest, AllowsWhereTheLimitSaysSoAndMarksIt) {
  const Decision decision = decide({limit_on_error("a", OnError::kAllow), limit("b", bucket(5))},
                                   {unknown(), admits()}, true, OnError::kDeny);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.source, Source::kFailOpen);
  EXPECT_EQ(named(decision), "b") << "a limit that was not asked has no share";
  EXPECT_TRUE(store_.refunded.empty());
}

TEST_F(EngineFailureTest, DeniesWhereTheLimitOrTheStoreSaysSoAndGivesBackWhatWasTaken) {
  const Decision own = decide({limit("a", bucket(5)), limit_on_error("b", OnError::kDeny)},
                              {admits(), unknown()}, true);
  EXPECT_FALSE(own.allowed);
  EXPECT_EQ(own.reason, Reason::kLimiterUnavailable);
  EXPECT_EQ(own.source, Source::kFailClosed);
  EXPECT_EQ(named(own), "b");
  EXPECT_EQ(store_.refunded, std::vector<std::string>{"a"});

  const Decision by_default = decide({limit("a", bucket(5))}, {unknown()}, true, OnError::kDeny);
  EXPECT_EQ(by_default.reason, Reason::kLimiterUnavailable);
}

TEST_F(EngineFailureTest, ShowsNoNumbersOfALimitThatTheStoreWasNotAskedAbout) {
  Answer unasked = admits();
  unasked.asked = false;
  unasked.source = Source::kDenyCache;
  const Decision decision =
      decide({limit("a", bucket(5)), limit("b", bucket(5))}, {unasked, denies()}, false);
  EXPECT_EQ(named(decision), "b");
  std::string json;
  append_check_json(decision, "id", json);
  EXPECT_NE(json.find("\"limit\":\"a\",\"quota\":5,\"remaining\":null"), std::string::npos) << json;
  AnswerHeaders headers;
  headers.fill(decision);
  std::string lines;
  headers.append_to(lines);
  EXPECT_EQ(lines.find("\"a\""), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"b\""), std::string::npos) << lines;
}

TEST_F(EngineFailureTest, CountsByItsOwnShareWhereTheLimitSaysLocal) {
  policy::Limit one = limit_on_error("a", OnError::kLocal);
  ASSERT_TRUE(engine_.install(policy_of({one})));
  engine_.set_instances(2);  // a burst of 5 becomes 2
  for (const bool allowed : {true, true, false}) {
    const Decision decision = decide({one}, {unknown()}, true);
    EXPECT_EQ(decision.allowed, allowed);
    EXPECT_EQ(decision.source, Source::kLocal);
    EXPECT_EQ(decision.named_limit()->verdict.quota, 2u);
  }
  EXPECT_TRUE(store_.refunded.empty());
}

TEST_F(EngineFailureTest, CorrectsTheCostInItsOwnShareWhereThatWasCharged) {
  const policy::Limit one = limit_on_error("a", OnError::kLocal);  // a burst of 5
  for (int i = 0; i < 8; ++i) {
    const Decision failed = decide({one}, {unknown()}, true);
    ASSERT_TRUE(failed.allowed) << i;
    engine_.refund(Receipt::of(failed), at_ns(8), {});
  }
  store::Correction told;
  engine_.settle(Receipt::of(decide({one}, {unknown()}, true)), 4, at_ns(8),
                 [&told](const store::Correction& made) { told = made; });
  EXPECT_EQ(told.outcome, store::Correction::Outcome::kMade);
  EXPECT_EQ(decide({one}, {unknown()}, true).named_limit()->verdict.remaining, 0u);
  EXPECT_TRUE(store_.refunded.empty()) << "the shared store was not charged";
}

TEST_F(EngineFailureTest, EveryHeaderTellsTheShareThatDecided) {
  policy::Limit one = limit_on_error("a", OnError::kLocal);
  one.numbers = {FixedWindow{5, Duration(std::chrono::hours(1))}};
  ASSERT_TRUE(engine_.install(policy_of({one})));
  engine_.set_instances(2);
  std::string lines;
  AnswerHeaders::append(decide({one}, {unknown()}, true), lines);
  EXPECT_NE(lines.find("X-RateLimit-Limit: 2\r\nX-RateLimit-Remaining: 1\r\n"), std::string::npos)
      << lines;
  EXPECT_NE(lines.find("RateLimit-Policy: \"a\";q=2;w=3600\r\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("RateLimit: \"a\";r=1;t="), std::string::npos) << lines;
}

TEST_F(EngineFailureTest, GivesBackWhatTheStoreTookWhenTheLocalShareRefuses) {
  const std::vector<policy::Limit> limits = {limit("a", bucket(5)),
                                             limit_on_error("b", OnError::kLocal)};
  ASSERT_TRUE(engine_.install(policy_of(limits)));
  engine_.set_instances(5);  // one call
  EXPECT_TRUE(decide(limits, {admits(), unknown()}, true).allowed);
  const Decision refused = decide(limits, {admits(), unknown()}, true);
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(named(refused), "b");
  EXPECT_EQ(refused.source, Source::kLocal);
  EXPECT_EQ(store_.refunded, std::vector<std::string>{"a"});
}

TEST_F(EngineFailureTest, AFailureThatDeniesTakesNothingFromTheLocalShare) {
  const std::vector<policy::Limit> both = {limit_on_error("a", OnError::kLocal),
                                           limit_on_error("b", OnError::kDeny)};
  const std::vector<policy::Limit> alone = {both[0]};
  ASSERT_TRUE(engine_.install(policy_of(alone)));
  engine_.set_instances(5);  // one call
  EXPECT_EQ(decide(both, {unknown(), unknown()}, true).reason, Reason::kLimiterUnavailable);
  EXPECT_TRUE(decide(alone, {unknown()}, true).allowed);
  EXPECT_FALSE(decide(alone, {unknown()}, true).allowed);
}

TEST(LocalShare, DividesTheNumbersAndKeepsAtLeastOne) {
  using std::chrono::seconds;
  const Rate third = {1, seconds(3)};
  const struct {
    Numbers whole;
    std::uint32_t instances;
    Numbers share;
  } table[] = {
      {TokenBucket{{10, seconds(1)}, 20}, 1, TokenBucket{{10, seconds(1)}, 20}},
      {TokenBucket{{10, seconds(1)}, 20}, 5, TokenBucket{{2, seconds(1)}, 4}},
      {TokenBucket{{10, seconds(1)}, 20}, 3, TokenBucket{{10, seconds(3)}, 6}},
      {TokenBucket{third, 1}, 4, TokenBucket{{1, seconds(12)}, 1}},
      {TokenBucket{{0, seconds(1)}, 0}, 4, TokenBucket{{0, seconds(1)}, 0}},
      {LeakyBucket{{10, seconds(1)}, 3}, 2, LeakyBucket{{5, seconds(1)}, 1}},
      {FixedWindow{100, Duration(seconds(60))}, 3, FixedWindow{33, Duration(seconds(60))}},
      {SlidingLog{2, seconds(60)}, 3, SlidingLog{1, seconds(60)}},
      {SlidingCounter{0, seconds(60)}, 3, SlidingCounter{0, seconds(60)}},
      {Unlimited{}, 3, Unlimited{}},
  };
  for (const auto& row : table) {
    EXPECT_TRUE(share_of(row.whole, row.instances) == row.share) << &row - table;
  }
}

TEST_F(EngineFailureTest, ADefiniteDenialBeatsAFailureElsewhere) {
  const Decision decision = decide({limit_on_error("a", OnError::kDeny), limit("b", bucket(5))},
                                   {unknown(), denies()}, false);
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(named(decision), "b");
  EXPECT_EQ(decision.reason, Reason::kNone);
  EXPECT_EQ(decision.source, Source::kRedis);
  EXPECT_TRUE(store_.refunded.empty());
}

TEST_F(EngineFailureTest, AFailedShadowLimitChangesNothing) {
  policy::Limit shadow = limit_on_error("a", OnError::kDeny);
  shadow.mode = policy::Mode::kShadow;
  const Decision decision = decide({shadow, limit("b", bucket(5))}, {unknown(), admits()}, true);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.source, Source::kRedis);
}

TEST_F(EngineFailureTest, OfAShadowLimitThatWouldHaveRefusedNothingIsGivenBack) {
  policy::Limit shadow = limit("shadow", bucket(5));
  shadow.mode = policy::Mode::kShadow;
  shadow.numbers.push_back(bucket(7));
  const Decision decision =
      decide({shadow, limit("a", bucket(5)), limit_on_error("b", OnError::kDeny)},
             {admits(), denies(), admits(), unknown()}, true);
  EXPECT_FALSE(decision.allowed);
  EXPECT_TRUE(store_.asked[1].with_before);
  EXPECT_FALSE(store_.asked[2].with_before);
  EXPECT_EQ(store_.refunded, std::vector<std::string>{"a"});
}

TEST_F(EngineFailureTest, OnePairOfNumbersThatFailedFailsItsLimit) {
  policy::Limit both = limit_on_error("a", OnError::kAllow);
  both.numbers.push_back(bucket(7));
  const Decision decision = decide({both}, {admits(), unknown()}, true);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.limits.size(), 1u);
  EXPECT_EQ(decision.source, Source::kFailOpen);
  EXPECT_EQ(named(decision), "-");
}

TEST_F(EngineFailureTest, ADenialByOnePairOfNumbersBeatsAFailureOfAnother) {
  policy::Limit both = limit_on_error("a", OnError::kAllow);
  both.numbers.push_back(bucket(7));
  const Decision decision = decide({both}, {unknown(), denies()}, false);
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(named(decision), "a");
}

TEST_F(EngineFailureTest, NamesCountersSoThatEachSetOfNumbersHasItsOwn) {
  policy::Limit query = limit("query", bucket(5), {"user"});
  query.numbers.push_back(bucket(7));
  query.tiers = {{"premium", {bucket(9)}}};
  query.overrides = {{{"u42"}, {bucket(8)}}};
  const auto counters = [&](const TestRequest& request) {
    EXPECT_TRUE(engine_.install(policy_of({query})).has_value());
    std::string names;
    engine_.decide(request, at_ns(0), std::nullopt, [](const Decision&) {});
    for (const Charge& charge : store_.asked) names += std::string(charge.counter) + ' ';
    store_.answer({}, true, at_ns(0));
    return names;
  };
  EXPECT_EQ(counters({{"user", "u"}}), "query query#2 ");
  EXPECT_EQ(counters({{"user", "u"}, {"tier", "premium"}}), "query@tier:premium ");
  EXPECT_EQ(counters({{"user", "u42"}, {"tier", "premium"}}), "query@override ");
}

}  // namespace
}  // namespace weir::engine
