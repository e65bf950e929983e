// Receipts: what a charge can still become, and ids for it.

#include "engine/receipt.h"

#include "engine/sent_attributes.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using store::Correction;
using Outcome = store::Correction::Outcome;

// Decides each charge of a request a microsecond after the one before, as slots of a Cluster do.
class SlotStore final : public store::Store {
 public:
  void charge(std::span<const store::Charge> charges, Instant now, std::span<store::Answer> answers,
              Done done) override {
    for (std::size_t i = 0; i < charges.size(); ++i) {
      memory_.charge_now(charges.subspan(i, 1), now + late(i), answers.subspan(i, 1));
      answers[i].apart = late(i);
    }
    done({true, now});
  }
  void correct(std::span<const store::Charge> charges, const std::optional<store::Once>&,
               Instant now, Corrected told) override {
    Correction all;
    all.at = now;
    for (std::size_t i = 0; i < charges.size(); ++i) {
      memory_.correct(charges.subspan(i, 1), std::nullopt, now + late(i),
                      [&all](const Correction& one) { all.found += one.found; });
      all.apart.push_back(late(i));
    }
    told(all);
  }
  void reset(std::span<const store::Charge> charges, Corrected told) override {
    memory_.reset(charges, std::move(told));
  }

 private:
  static Duration late(std::size_t i) { return std::chrono::microseconds(i); }

  store::MemoryStore memory_;
};

class Receipts : public OverMemory {
 protected:
  Receipt charge(const TestRequest& request, std::optional<std::uint64_t> cost = std::nullopt) {
    return Receipt::of(decide(request, cost));
  }
  std::uint64_t left(const TestRequest& request) {
    return decide(request, 0).named_limit()->verdict.remaining;
  }
  Correction settle(const Receipt& receipt, std::uint64_t cost) {
    engine_.settle(receipt, cost, now_, keep_);
    return told_;
  }
  Correction refund(const Receipt& receipt) {
    engine_.refund(receipt, now_, keep_);
    return told_;
  }
  Correction release(const Receipt& receipt) {
    engine_.release(receipt, now_, keep_);
    return told_;
  }
  Correction renew(const Receipt& receipt) {
    engine_.renew(receipt, now_, keep_);
    return told_;
  }

  template <typename Made>
  std::string id_of(const Made& made) {
    std::string id;
    engine_.append_id(made, id);
    return id;
  }

  const TestRequest bob_{{"user", "bob"}};
  Correction told_;
  Engine::Corrected keep_ = [this](const Correction& correction) { told_ = correction; };
};

TEST_F(Receipts, NothingIsLeftToCorrectWhereNothingWasCharged) {
  install({limit("a", bucket(1), {"user"}), limit("b", Unlimited{})});
  EXPECT_TRUE(charge(bob_, 0).empty());
  EXPECT_FALSE(charge(bob_).empty());
  EXPECT_TRUE(charge(bob_).empty());  // refused
  EXPECT_TRUE(charge({{"path", "/"}}).empty());
  EXPECT_EQ(settle({}, 5).outcome, Outcome::kMade);
}

TEST_F(Receipts, ACostIsCorrectedOnceInEitherDirection) {
  install({limit("a", bucket(10), {"user"})});
  const Receipt less = charge(bob_, 4);
  EXPECT_EQ(settle(less, 1).outcome, Outcome::kMade);
  EXPECT_EQ(left(bob_), 9u);
  EXPECT_EQ(settle(less, 0).outcome, Outcome::kSpent);
  EXPECT_EQ(refund(less).outcome, Outcome::kSpent);
  EXPECT_EQ(left(bob_), 9u);
  const Receipt more = charge(bob_, 1);
  settle(more, 12);
  EXPECT_EQ(left(bob_), 0u);
  now_ = now_ + Duration(seconds(3));
  EXPECT_EQ(left(bob_), 0u);  // three were owed
  now_ = now_ + Duration(seconds(1));
  EXPECT_EQ(left(bob_), 1u);
}

TEST_F(Receipts, ACallThatOutlivesItsNumbersLeavesTheNewOnesCounting) {
  install({limit("a", SlidingLog{10, seconds(60)}, {"user"})});
  const Receipt log = charge(bob_, 4);
  install({limit("a", SlidingLog{10, seconds(120)}, {"user"})});
  EXPECT_EQ(left(bob_), 10u);  // another window is another counter
  charge(bob_, 10);
  EXPECT_EQ(settle(log, 3).outcome, Outcome::kMade);
  EXPECT_EQ(left(bob_), 0u);

  install({limit("b", bucket(10), {"user"})});
  const Receipt taken = charge(bob_, 10);
  install({limit("b", bucket(100), {"user"})});
  EXPECT_TRUE(charge(bob_).empty());  // refused, and a use: from here on the new numbers count
  now_ = now_ + Duration(seconds(80));
  EXPECT_EQ(left(bob_), 80u);
  settle(taken, 5);
  EXPECT_EQ(left(bob_), 85u);
}

TEST_F(Receipts, CopiesAreOneReceipt) {
  install({limit("a", bucket(10), {"user"})});
  const Receipt receipt = charge(bob_, 4);
  const Receipt copy = receipt;  // NOLINT: that is what is tested
  EXPECT_EQ(refund(copy).outcome, Outcome::kMade);
  EXPECT_EQ(refund(receipt).outcome, Outcome::kSpent);
}

TEST_F(Receipts, AWindowThatHasPassedGivesNothingBackAndTakesNothingMore) {
  install({limit("a", FixedWindow{5, Duration(minutes(1)), Align::kEpoch}, {"user"})});
  const Receipt first = charge(bob_, 3);
  const Receipt second = charge(bob_, 1);
  now_ = now_ + Duration(minutes(1));
  charge(bob_, 2);
  settle(first, 0);
  settle(second, 3);
  EXPECT_EQ(left(bob_), 3u);
}

TEST_F(Receipts, ASettlementCorrectsTheLimitsThatSaySoWhereThereAreAny) {
  policy::Limit tokens = limit("tokens", bucket(100), {"user"});
  tokens.settle = "x-usage";
  install({limit("requests", bucket(100), {"user"}), tokens});
  settle(charge(bob_, 1), 41);
  const Decision decision = decide(bob_, 0);
  EXPECT_EQ(decision.limits[0].verdict.remaining, 99u);
  EXPECT_EQ(decision.limits[1].verdict.remaining, 59u);
}

TEST_F(Receipts, CallsInFlightEndOnceAndAreRenewedUntilThen) {
  install(
      {limit("flight", Concurrency{1, seconds(10)}, {"user"}), limit("a", bucket(9), {"user"})});
  const Receipt receipt = charge(bob_);
  EXPECT_TRUE(receipt.has_places());
  EXPECT_EQ(receipt.shortest_timeout(), seconds(10));
  EXPECT_FALSE(allowed(bob_));
  for (int i = 0; i < 3; ++i) {
    now_ = now_ + Duration(seconds(9));
    EXPECT_EQ(renew(receipt).found, 1u);
    EXPECT_FALSE(allowed(bob_));
  }
  EXPECT_EQ(release(receipt).found, 1u);
  EXPECT_EQ(release(receipt).outcome, Outcome::kSpent);
  EXPECT_EQ(renew(receipt).outcome, Outcome::kSpent);
  const Receipt next = charge(bob_);
  EXPECT_FALSE(next.empty());
  // The cost is another half: it can be given back though the call has ended, and the other way.
  EXPECT_EQ(settle(receipt, 0).outcome, Outcome::kMade);
  EXPECT_EQ(refund(next).outcome, Outcome::kMade);
  EXPECT_EQ(release(next).outcome, Outcome::kSpent);
  EXPECT_TRUE(allowed(bob_));
}

TEST_F(Receipts, ACallThatLeftAtItsTimeoutIsNotRenewed) {
  install({limit("flight", Concurrency{1, seconds(10)}, {"user"})});
  const Receipt receipt = charge(bob_);
  now_ = now_ + Duration(seconds(10));
  const Receipt other = charge(bob_);
  EXPECT_FALSE(other.empty());
  EXPECT_EQ(renew(receipt).found, 0u);
  EXPECT_EQ(release(receipt).found, 0u);
  EXPECT_FALSE(allowed(bob_));
}

TEST_F(Receipts, LimitsOnCallsInFlightDoNotApplyWhereNobodySaysThatOneEnded) {
  install({limit("flight", Concurrency{0, seconds(10)})});
  SentAttributes sent;
  const auto fate = [&] {
    Decision answer;
    engine_.decide(sent, now_, std::nullopt, [&](Decision decision) { answer = decision; });
    return answer.allowed;
  };
  EXPECT_FALSE(fate());
  sent.never_released();
  EXPECT_TRUE(fate());
}

TEST_F(Receipts, AnIdIsGoodOnceAtEachHalf) {
  install(
      {limit("flight", Concurrency{2, seconds(10)}, {"user"}), limit("a", bucket(9), {"user"})});
  const std::string id = id_of(decide(bob_, 2));
  ASSERT_FALSE(id.empty());
  const auto open = [&] { return *engine_.open(id); };
  EXPECT_EQ(settle(open(), 1).outcome, Outcome::kMade);
  EXPECT_EQ(settle(open(), 1).outcome, Outcome::kSpent);
  EXPECT_EQ(refund(open()).outcome, Outcome::kSpent);
  EXPECT_EQ(release(open()).outcome, Outcome::kSpent);  // the refund has ended the call
  EXPECT_EQ(decide(bob_, 0).limits[0].verdict.remaining, 2u);
  EXPECT_EQ(decide(bob_, 0).limits[1].verdict.remaining, 8u);
}

TEST(ReceiptsOverSlots, WhatWasChargedIsFoundByWhenItsOwnSlotChargedIt) {
  SlotStore store;
  Engine engine(store);
  ASSERT_TRUE(engine.install(policy_of({limit("flight", Concurrency{1, seconds(10)}, {"user"}),
                                        limit("log", SlidingLog{9, seconds(60)}, {"user"}),
                                        limit("more", Concurrency{1, seconds(10)}, {"path"})})));
  const TestRequest request{{"user", "bob"}, {"path", "/"}};
  Instant now = at_ns(1'764'000'000'000'000'000);
  const auto ask = [&](std::optional<std::uint64_t> cost) {
    Decision answer;
    engine.decide(request, now, cost, [&](Decision decision) { answer = std::move(decision); });
    return answer;
  };
  Correction told;
  const auto keep = [&told](const Correction& correction) { told = correction; };
  const auto open = [&](const auto& made) {
    std::string id;
    engine.append_id(made, id);
    return *engine.open(id);
  };
  for (const bool by_id : {false, true}) {
    now = now + Duration(seconds(1));
    const Decision decision = ask(1);
    ASSERT_TRUE(decision.allowed);
    Receipt receipt = by_id ? open(decision) : Receipt::of(decision);
    for (int i = 0; i < 2; ++i) {
      now = now + Duration(seconds(1));
      engine.renew(receipt, now, keep);
      EXPECT_EQ(told.found, 2u) << by_id << i;
      if (by_id) receipt = open(receipt);
    }
    now = now + Duration(seconds(1));
    engine.refund(receipt, now, keep);
    for (const LimitDecision& one : ask(0).limits) {
      EXPECT_EQ(one.verdict.remaining, one.verdict.quota) << one.name << by_id;
    }
  }
}

TEST_F(Receipts, AnIdThatChangesNothingIsUsedAllTheSame) {
  install({limit("a", bucket(9), {"user"})});
  const std::string id = id_of(decide(bob_, 2));
  EXPECT_EQ(settle(*engine_.open(id), 2).outcome, Outcome::kMade);
  EXPECT_EQ(refund(*engine_.open(id)).outcome, Outcome::kSpent);
  EXPECT_EQ(left(bob_), 7u);
}

TEST_F(Receipts, ARenewalGivesANewIdAndEndsTheOld) {
  install({limit("flight", Concurrency{1, seconds(10)}, {"user"})});
  const std::string first = id_of(decide(bob_));
  now_ = now_ + Duration(seconds(9));
  const Receipt opened = *engine_.open(first);
  EXPECT_EQ(renew(opened).found, 1u);
  const std::string second = id_of(opened);
  EXPECT_NE(first, second);
  EXPECT_EQ(renew(*engine_.open(first)).outcome, Outcome::kSpent);
  EXPECT_EQ(release(*engine_.open(first)).outcome, Outcome::kSpent);
  now_ = now_ + Duration(seconds(9));
  EXPECT_EQ(release(*engine_.open(second)).found, 1u);
  EXPECT_EQ(release(*engine_.open(second)).outcome, Outcome::kSpent);
}

TEST_F(Receipts, AnIdEnds) {
  policy::Policy policy = policy_of({limit("a", bucket(9, minutes(60)), {"user"})});
  policy.api.emplace().id_lifetime = seconds(5);
  install(std::move(policy));
  const std::string early = id_of(decide(bob_, 2));
  const std::string late = id_of(decide(bob_, 2));
  now_ = now_ + Duration(seconds(5)) + Duration(-1);
  EXPECT_EQ(refund(*engine_.open(early)).outcome, Outcome::kMade);
  now_ = now_ + Duration(1);
  EXPECT_EQ(refund(*engine_.open(late)).outcome, Outcome::kTooLate);
  EXPECT_EQ(left(bob_), 7u);
}

TEST_F(Receipts, AnIdThatWasChangedOrIsAnothersIsNone) {
  install({limit("a", bucket(9), {"user"})});
  const std::string id = id_of(decide(bob_, 2));
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::string changed = id;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(engine_.open(changed).has_value()) << i;
  }
  for (const std::string& wrong :
       {std::string(), id.substr(1), id.substr(0, id.size() - 1), id + "A", std::string(100, 'A'),
        std::string(100'000, 'A'), std::string("../../etc")}) {
    EXPECT_FALSE(engine_.open(wrong).has_value());
  }
  store::MemoryStore store;
  Engine other(store);
  ASSERT_TRUE(other.install(policy_of({limit("a", bucket(9), {"user"})})));
  EXPECT_EQ(other.open(id).error().code, ErrorCode::kNotFound);
}

TEST_F(Receipts, InstancesThatShareASecretReadEachOthersIdsAndTheirOwnOfBefore) {
  install({limit("a", bucket(9), {"user"})});
  const std::string before = id_of(decide(bob_, 1));
  store::MemoryStore store;
  Engine other(store);
  ASSERT_TRUE(other.install(policy_of({limit("a", bucket(9), {"user"})})));
  for (Engine* engine : {&engine_, &other}) engine->share_id_secret({1, 2});
  const std::string after = id_of(decide(bob_, 1));
  EXPECT_TRUE(other.open(after).has_value());
  EXPECT_TRUE(engine_.open(before).has_value());
}

TEST_F(Receipts, AnIdFindsItsCountersAfterAReloadAndLeavesOutThoseThatAreGone) {
  policy::Limit a = limit("a", bucket(9), {"user"});
  a.overrides = {{{"bob"}, {bucket(20)}}};
  a.tiers["gold"] = {bucket(30)};
  install({a, limit("b", FixedWindow{9, Duration(minutes(1)), Align::kEpoch}, {"user"})});
  const std::string id = id_of(decide(bob_, 5));
  const TestRequest gold{{"user", "ann"}, {"tier", "gold"}};
  const std::string golden = id_of(decide(gold, 5));
  a.overrides = {{{"bob"}, {bucket(40)}}};
  install({a, limit("b", FixedWindow{9, Duration(minutes(2)), Align::kEpoch}, {"user"})});
  EXPECT_EQ(refund(*engine_.open(id)).outcome, Outcome::kMade);
  EXPECT_EQ(decide(bob_, 0).limits[0].verdict.remaining, 20u);
  EXPECT_EQ(refund(*engine_.open(golden)).outcome, Outcome::kMade);
  EXPECT_EQ(decide(gold, 0).limits[0].verdict.remaining, 30u);
  install({limit("c", bucket(9), {"user"})});
  EXPECT_EQ(engine_.open(id).error().code, ErrorCode::kNotFound);
}

TEST_F(Receipts, NumbersThatCameWithTheCallHaveAnIdToo) {
  install(std::vector<policy::Limit>{});
  const TokenBucket numbers{{1, seconds(1)}, 5};
  const Receipt receipt = Receipt::of_adhoc(numbers, "~adhoc", "k", 3, now_);
  const Receipt opened = *engine_.open(id_of(receipt));
  ASSERT_EQ(opened.charged()->taken.size(), 1u);
  const TakenFrom& one = opened.charged()->taken.front();
  EXPECT_EQ(opened.charged()->key(one), "k");
  EXPECT_EQ(one.cost, 3u);
  EXPECT_EQ(one.rule->quota(), 5u);
}

TEST_F(Receipts, KeysThatAreTooLongHaveNoId) {
  install({limit("a", bucket(9), {"user"})});
  EXPECT_EQ(id_of(decide({{"user", std::string(20'000, 'x')}})), "");
  EXPECT_NE(id_of(decide({{"user", std::string(10'000, 'x')}})), "");
}

}  // namespace
}  // namespace weir::engine
