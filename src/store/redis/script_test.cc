// The scripts against limit::Rule, call by call, on a real server: same answers, one tick 1 us.

#include "store/redis/script.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "store/memory/memory_store.h"
#include "store/redis/test_counter.h"

namespace weir::store::redis {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::RedisClient;
using support::RedisServer;

constexpr std::int64_t kStartUs = 1'764'000'000'000'000;

class ScriptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<RedisServer>(); }
  static void TearDownTestSuite() { server_.reset(); }

  RedisClient client_{server_->socket_path()};
  static std::unique_ptr<RedisServer> server_;
};

std::unique_ptr<RedisServer> ScriptTest::server_;

Duration up_to_us(Duration d) {
  return Duration((d.count() + 999) / 1000 * 1000);
}

// The verdict of the memory store, whose tick is 1 ns, as one of 1 us.
Verdict rounded(Verdict verdict) {
  for (Duration* each :
       {&verdict.retry_after, &verdict.reset_after, &verdict.delay, &verdict.next_after}) {
    *each = up_to_us(*each);
  }
  return verdict;
}

std::string show(const Verdict& v) {
  return "outcome " + std::to_string(static_cast<int>(v.outcome)) + " quota " +
         std::to_string(v.quota) + " remaining " + std::to_string(v.remaining) + " retry " +
         std::to_string(v.retry_after.count()) + (v.retry_known ? "" : "?") + " reset " +
         std::to_string(v.reset_after.count()) + " delay " + std::to_string(v.delay.count()) +
         " next " + std::to_string(v.next_after.count());
}

std::vector<Numbers> every_algorithm() {
  using std::chrono::days;
  return {
      TokenBucket{{10, seconds(1)}, 5},
      TokenBucket{{1, seconds(3)}, 1},
      TokenBucket{{7, seconds(1)}, 3},
      TokenBucket{{999'999'937, seconds(1)}, 1000},
      TokenBucket{{3, milliseconds(1)}, 2},
      TokenBucket{{1, days(30)}, 3},
      TokenBucket{{0, seconds(1)}, 3},
      TokenBucket{{1'000'000'007, seconds(1)},
                  3'000'000'000'000'000'000},  // too wide for bucket.lua
      TokenBucket{{5, seconds(1)}, 0},
      LeakyBucket{{10, seconds(1)}, 3},
      LeakyBucket{{3, seconds(1)}, 0},
      LeakyBucket{{0, seconds(1)}, 4},
      FixedWindow{5, Duration(seconds(2)), Align::kEpoch},
      FixedWindow{5, Duration(milliseconds(700)), Align::kFirst},
      FixedWindow{0, Duration(seconds(1)), Align::kEpoch},
      FixedWindow{4, Calendar{CalendarUnit::kMinute, "Asia/Shanghai"}, Align::kEpoch},
      SlidingLog{5, milliseconds(1500)},
      SlidingCounter{6, seconds(1), Align::kEpoch},
      SlidingCounter{1000, milliseconds(7), Align::kFirst},
      SlidingCounter{9'000'000'000'000'000, hours(24 * 365), Align::kEpoch},
      Concurrency{4, seconds(1)},
  };
}

// A step in time that often meets an edge of the rule.
std::int64_t random_step(std::mt19937_64& random) {
  static constexpr std::int64_t kSteps[] = {0,       1,       2,         99'999,    100'000,
                                            333'333, 333'334, 1'000'000, 1'499'999, 3'000'000};
  return random() % 4 == 0 ? static_cast<std::int64_t>(random() % 500'000) : kSteps[random() % 10];
}

std::uint64_t random_cost(std::mt19937_64& random, std::uint64_t quota) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return random() % 4;
    case 2:
      return quota > 1 ? 1 + random() % quota : 1;
    case 3:
      return quota + random() % 2;
    default:
      return 1;
  }
}

TEST_F(ScriptTest, AnswersAsMemoryDoesForEveryAlgorithm) {
  std::mt19937_64 random(20261130);
  int number = 0;
  for (const Numbers& numbers : every_algorithm()) {
    const auto rule = limit::Rule::make(numbers);
    ASSERT_TRUE(rule.has_value());
    MemoryStore memory;
    Counter counter(client_, numbers, "every" + std::to_string(number++));
    std::int64_t now_us = kStartUs + static_cast<std::int64_t>(random() % 10'000'000);
    std::vector<std::pair<std::uint64_t, std::int64_t>> taken;
    for (int call = 0; call < 250; ++call) {
      now_us += random_step(random);
      const std::uint64_t cost = random_cost(random, rule->quota());
      const Charge charge{.rule = &*rule, .counter = "c", .key = "k", .cost = cost};
      const Instant now = at_ns(now_us * 1000);
      Answer answer;
      const Admission admission = memory.charge_now({&charge, 1}, now, {&answer, 1});
      const auto got = counter.charge(cost, now_us);
      ASSERT_EQ(got.admitted, admission.admitted) << numbers.index() << " call " << call;
      ASSERT_EQ(show(got.verdict), show(rounded(answer.verdict)))
          << "numbers " << number - 1 << " call " << call << " cost " << cost;
      if (got.admitted && cost > 0) taken.emplace_back(cost, now_us);
      if (!taken.empty() && random() % 5 == 0) {
        const auto [back, at] = taken[random() % taken.size()];
        Charge change = charge;
        change.cost = random() % 3 == 0 ? rule->quota() + random() % 10 : back;
        change.charged_at = at_ns(at * 1000);
        change.change = static_cast<Change>(random() % 3);
        Correction correction;
        memory.correct({&change, 1}, std::nullopt, now, [&](Correction c) { correction = c; });
        const Correction told = counter.correct(change.change, change.cost, now_us, at);
        ASSERT_EQ(told.found, correction.found) << "numbers " << number - 1 << " call " << call;
      }
    }
  }
}

TEST_F(ScriptTest, MakesACorrectionOnceUntilItsTimeHasCome) {
  using Outcome = Correction::Outcome;
  Counter counter(client_, TokenBucket{{1, seconds(1)}, 5}, "{once}a");
  counter.charge(5, kStartUs);
  const auto once = std::pair(std::string("{once}mark"), kStartUs + 2'000'000);
  EXPECT_EQ(counter.correct(Change::kGiveBack, 2, kStartUs, kStartUs, once).outcome,
            Outcome::kMade);
  EXPECT_EQ(counter.correct(Change::kGiveBack, 2, kStartUs + 1, kStartUs, once).outcome,
            Outcome::kSpent);
  EXPECT_EQ(counter.charge(0, kStartUs).verdict.remaining, 2u);
  EXPECT_EQ(counter.correct(Change::kGiveBack, 2, kStartUs + 2'000'000, kStartUs, once).outcome,
            Outcome::kTooLate);
}

TEST_F(ScriptTest, TheLeanScriptAnswersAsTheLongOne) {
  std::mt19937_64 random(7);
  int number = 0;
  for (const Numbers& numbers : every_algorithm()) {
    ++number;
    Counter lean(client_, numbers, "lean" + std::to_string(number));
    Counter full(client_, numbers, "full" + std::to_string(number));
    if (lean.rule().kind() != Kind::kBucket || !lean.rule().lean()) continue;
    std::int64_t now_us = kStartUs;
    for (int call = 0; call < 200; ++call) {
      now_us += random_step(random);
      const std::uint64_t cost = random_cost(random, lean.rule().quota());
      const auto a = lean.charge_lean(cost, now_us);
      const auto b = full.charge(cost, now_us);
      ASSERT_EQ(a.admitted, b.admitted) << number << " call " << call;
      ASSERT_EQ(show(a.verdict), show(b.verdict)) << number << " call " << call;
    }
  }
}

TEST_F(ScriptTest, AdmitsExactlyAtRetryAfterAndNotOneMicrosecondBefore) {
  int number = 0;
  for (const Numbers& numbers : every_algorithm()) {
    Counter counter(client_, numbers, "retry" + std::to_string(++number));
    std::int64_t now_us = kStartUs + 12'345;
    Counter::Outcome outcome;
    const std::uint64_t whole = std::max<std::uint64_t>(counter.rule().quota(), 1);
    outcome = counter.charge(whole, now_us);
    outcome = counter.charge(1, now_us);
    if (outcome.verdict.outcome != Outcome::kDenied) continue;
    const std::int64_t retry_us = outcome.verdict.retry_after.count() / 1000;
    EXPECT_FALSE(counter.charge(1, now_us + retry_us - 1).admitted) << number;
    EXPECT_TRUE(counter.charge(1, now_us + retry_us).admitted) << number;
  }
}

TEST_F(ScriptTest, KeepsWhatIsLeftInABucketWhenItsNumbersChange) {
  Counter counter(client_, TokenBucket{{1, hours(1)}, 10}, "reload");
  EXPECT_EQ(counter.charge(8, kStartUs).verdict.remaining, 2u);
  counter.use(TokenBucket{{1, hours(1)}, 20});
  EXPECT_EQ(counter.charge(0, kStartUs).verdict.remaining, 2u);
  EXPECT_EQ(counter.charge(1, kStartUs).verdict.remaining, 1u);
  counter.use(TokenBucket{{7, seconds(1)}, 1});
  EXPECT_EQ(counter.charge(1, kStartUs).verdict.remaining, 0u);
  EXPECT_FALSE(counter.charge(1, kStartUs + 142'857).admitted);
  EXPECT_TRUE(counter.charge(1, kStartUs + 142'858).admitted);
  counter.use(TokenBucket{{0, seconds(1)}, 4});
  EXPECT_FALSE(counter.charge(1, kStartUs + 142'858).admitted);
}

// The script converts where doubles are exact, the rule elsewhere: the same state either way.
TEST_F(ScriptTest, ConvertsABucketAsTheRuleDoes) {
  std::mt19937_64 random(11);
  int by_script = 0;
  int number = 0;
  for (const Numbers& older : every_algorithm()) {
    for (const Numbers& newer : every_algorithm()) {
      if (older.index() != newer.index() || compile(older).kind() != Kind::kBucket) continue;
      for (int run = 0; run < 20; ++run) {
        const std::string key = "by_script" + std::to_string(++number);
        std::int64_t now_us = kStartUs;
        Counter counter(client_, older, key);
        for (int call = 0; call < 4; ++call) {
          counter.charge(random_cost(random, counter.rule().quota()), now_us);
          now_us += random_step(random) / 4;
        }
        const std::string raw(client_({"GET", key}).text());
        counter.use(newer);
        if (raw.empty() || counter.rule().is_own(raw)) continue;
        const std::string right = *counter.rule().adopt(raw, now_us);
        Counter copy(client_, newer, "by_rule" + std::to_string(number));
        if (!right.empty()) client_({"SET", "by_rule" + std::to_string(number), right});
        const auto verdict = counter.charge(1, now_us).verdict;
        by_script += counter.rounds() == 1 ? 1 : 0;
        ASSERT_EQ(show(verdict), show(copy.charge(1, now_us).verdict))
            << raw << " to " << right << " at " << now_us;
        ASSERT_EQ(client_({"GET", key}).text(),
                  client_({"GET", "by_rule" + std::to_string(number)}).text());
      }
    }
  }
  EXPECT_GT(by_script, 200);
}

TEST_F(ScriptTest, KeepsWhatIsUsedInAWindowWhenItsLimitChanges) {
  for (const auto& [before, after] : std::vector<std::pair<Numbers, Numbers>>{
           {FixedWindow{10, Duration(seconds(60)), Align::kEpoch},
            FixedWindow{5, Duration(seconds(60)), Align::kEpoch}},
           {SlidingLog{10, seconds(60)}, SlidingLog{5, seconds(60)}},
           {SlidingCounter{10, seconds(60), Align::kEpoch},
            SlidingCounter{5, seconds(60), Align::kEpoch}},
           {Concurrency{10, seconds(60)}, Concurrency{5, seconds(60)}}}) {
    client_({"FLUSHALL"});
    Counter counter(client_, before, "limit");
    EXPECT_EQ(counter.charge(8, kStartUs).verdict.remaining, 2u);
    counter.use(after);
    EXPECT_FALSE(counter.charge(1, kStartUs).admitted);
    counter.use(before);
    EXPECT_EQ(counter.charge(1, kStartUs).verdict.remaining, 1u);
  }
}

TEST_F(ScriptTest, LetsNoKeyLiveForEverAndNoneDieEarly) {
  client_({"FLUSHALL"});
  int number = 0;
  for (const Numbers& numbers : every_algorithm()) {
    const std::string key = "ttl" + std::to_string(++number);
    Counter counter(client_, numbers, key);
    const auto outcome = counter.charge(1, kStartUs);
    if (!outcome.admitted) continue;
    const std::int64_t spare = 3'600'000;  // of a time that was handed in
    const std::int64_t ttl = client_({"PTTL", key}).integer() - spare;
    std::int64_t reset_ms = outcome.verdict.reset_after.count() / 1'000'000;
    if (std::holds_alternative<Concurrency>(numbers)) reset_ms = 1000;
    EXPECT_GE(ttl, reset_ms - 20) << key;
    EXPECT_LE(ttl, reset_ms + 2) << key;
    client_({"PERSIST", key});
    counter.charge(counter.rule().quota() + 1, kStartUs);
    EXPECT_GT(client_({"PTTL", key}).integer(), 0) << key;
  }
}

TEST_F(ScriptTest, HealsACounterThatWasPlantedWithoutExpiry) {
  Counter counter(client_, FixedWindow{2, Duration(seconds(1)), Align::kEpoch}, "planted");
  client_({"SET", "planted", "1764000000000000 1764000001000000 2"});
  EXPECT_FALSE(counter.charge(1, kStartUs).admitted);
  EXPECT_GT(client_({"PTTL", "planted"}).integer(), 0);
  EXPECT_TRUE(counter.charge(1, kStartUs + 1'000'000).admitted);
}

TEST_F(ScriptTest, SaysSoWhenAForeignValueStandsThere) {
  for (const Numbers& numbers : every_algorithm()) {
    const CounterRule rule = compile(numbers);
    client_({"FLUSHALL"});
    client_({"SET", "foreign", "banana"});
    std::string call;
    charge_script().append_eval(call, 4 + CounterRule::kArguments);
    for (std::string_view text : {"1", "foreign", "", ""}) resp::append_argument(call, text);
    CounterRule::Request request;
    request.now_us = kStartUs;
    rule.append_charge(call, request);
    const resp::Reply reply = client_.send(call);
    if (rule.kind() == Kind::kLog) {
      EXPECT_TRUE(reply.is_error() && reply.text().starts_with("WRONGTYPE")) << reply.text();
      continue;
    }
    ASSERT_EQ(reply.at(0).text(), "again");
    EXPECT_EQ(reply.at(3).text(), "banana");
    EXPECT_FALSE(rule.adopt("banana", kStartUs).has_value());
    EXPECT_EQ(client_({"GET", "foreign"}).text(), "banana");
  }
}

TEST_F(ScriptTest, BringsAStateFromAClockThatRanAheadWithinReach) {
  for (const Numbers& numbers : every_algorithm()) {
    client_({"FLUSHALL"});
    Counter counter(client_, numbers, "ahead");
    const std::uint64_t quota = counter.rule().quota();
    if (quota == 0 || std::holds_alternative<Concurrency>(numbers)) continue;
    const auto* bucket = std::get_if<TokenBucket>(&numbers);
    const auto* leaky = std::get_if<LeakyBucket>(&numbers);
    if (bucket != nullptr && bucket->rate.count == 0) continue;
    if (leaky != nullptr && leaky->rate.count == 0) continue;
    counter.charge(quota, kStartUs + 3'600'000'000);
    const auto outcome = counter.charge(1, kStartUs);
    if (outcome.admitted) continue;
    const std::int64_t wait_us = outcome.verdict.retry_after.count() / 1000;
    EXPECT_TRUE(counter.charge(1, kStartUs + wait_us).admitted) << show(outcome.verdict);
  }
}

TEST_F(ScriptTest, KeepsALogOfManyCallsOfManySizes) {
  const Numbers numbers = SlidingLog{1000, milliseconds(50)};
  const auto rule = limit::Rule::make(numbers);
  MemoryStore memory;
  Counter counter(client_, numbers, "sizes");
  std::mt19937_64 random(3);
  std::int64_t now_us = kStartUs;
  for (int call = 0; call < 1500; ++call) {
    now_us += static_cast<std::int64_t>(random() % 300);
    const std::uint64_t cost = random() % 12;
    const Charge charge{.rule = &*rule, .counter = "c", .key = "k", .cost = cost};
    Answer answer;
    memory.charge_now({&charge, 1}, at_ns(now_us * 1000), {&answer, 1});
    ASSERT_EQ(show(counter.charge(cost, now_us).verdict), show(rounded(answer.verdict))) << call;
  }
}

TEST_F(ScriptTest, DropsManyCallsThatCountNoMoreAlsoWhereNothingIsTaken) {
  constexpr int kMarks = 1000;
  for (const bool denied : {false, true}) {
    const std::string key = denied ? "denied" : "peeked";
    Counter counter(client_, SlidingLog{3000, seconds(1)}, key);
    for (int i = 0; i < kMarks; ++i) counter.charge(2, kStartUs + 1000 * i);
    const std::uint64_t cost = denied ? 2500 : 0;
    // Half of them count no more; then none does.
    const auto half = counter.charge(cost, kStartUs + 1'000'000 + 1000 * (kMarks / 2 - 1));
    EXPECT_EQ(half.verdict.remaining, 2000u);
    EXPECT_EQ(half.admitted, !denied);
    EXPECT_EQ(client_({"ZCARD", key}).integer(), 1 + kMarks / 2);
    counter.charge(denied ? 3001 : 0, kStartUs + 3'000'000);
    EXPECT_EQ(client_({"EXISTS", key}).integer(), 0);
  }
}

}  // namespace
}  // namespace weir::store::redis
