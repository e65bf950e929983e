#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "store/memory/memory_store.h"
#include "support/temporary_folder.h"

namespace weir::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = at_ns(1'767'225'600'000'000'000);

class Snapshots : public ::testing::Test {
 protected:
  static Verdict take(MemoryStore& store, const limit::Rule& rule, std::string_view key,
                      Instant now, std::uint64_t cost = 1) {
    const Charge charge{&rule, "limit", key, cost};
    Answer answer;
    store.charge_now({&charge, 1}, now, {&answer, 1});
    return answer.verdict;
  }

  std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::string& text) const {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << text;
  }

  const support::TemporaryFolder folder_;
  const std::string file_ = folder_ / "counters";
};

limit::Rule rule_of(const Numbers& numbers) {
  return *limit::Rule::make(numbers);
}

std::vector<limit::Rule> rules_of_every_kind() {
  std::vector<limit::Rule> rules;
  for (const Numbers& numbers :
       {Numbers(TokenBucket{Rate{7, seconds(60)}, 10}), Numbers(TokenBucket{Rate{0}, 10}),
        Numbers(LeakyBucket{Rate{1, seconds(2)}, 9}), Numbers(FixedWindow{10, seconds(60)}),
        Numbers(FixedWindow{10, Calendar{CalendarUnit::kDay, "Asia/Shanghai"}}),
        Numbers(SlidingLog{10, seconds(60)}), Numbers(SlidingCounter{10, seconds(60)}),
        Numbers(SlidingCounter{10, seconds(60), Align::kFirst}),
        Numbers(Concurrency{10, seconds(60)})}) {
    rules.push_back(rule_of(numbers));
  }
  return rules;
}

TEST_F(Snapshots, GiveEveryAlgorithmTheSameAnswersInTheNextProcess) {
  const auto rules = rules_of_every_kind();
  MemoryStore before;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (int call = 0; call < 6; ++call) {
      take(before, rules[i], std::to_string(i), kStart + milliseconds(call));
    }
  }
  const Instant saved = kStart + seconds(1);
  const auto count = before.save(file_, saved);
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_EQ(*count, rules.size());

  MemoryStore after;
  const auto restored = after.restore(file_, saved + seconds(2));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(*restored, rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (int call = 0; call < 6; ++call) {
      const Instant now = saved + seconds(2 + call);
      EXPECT_EQ(take(after, rules[i], std::to_string(i), now),
                take(before, rules[i], std::to_string(i), now))
          << "rule " << i << " call " << call;
    }
  }
}

TEST_F(Snapshots, KeepManyBucketsInTheirSlots) {
  const auto rule = rule_of(TokenBucket{Rate{1, seconds(60)}, 5});
  MemoryStore before(MemoryOptions{50'000});
  for (int i = 0; i < 30'000; ++i) take(before, rule, std::to_string(i), kStart, 1 + i % 5);
  ASSERT_TRUE(before.save(file_, kStart));
  MemoryStore after(MemoryOptions{50'000});
  const auto restored = after.restore(file_, kStart);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(*restored, 30'000u);
  EXPECT_EQ(after.evictions(), 0u);
  EXPECT_GT(after.keys_in_slots(), 29'500u);
  for (int i = 0; i < 30'000; ++i) {
    ASSERT_EQ(take(after, rule, std::to_string(i), kStart, 0).remaining, 4u - i % 5);
  }
}

TEST_F(Snapshots, MeanWallTimeWhateverTheSteadyClockOfTheNextProcessShows) {
  const auto rule = rule_of(TokenBucket{Rate{1, seconds(1)}, 10});
  const auto log = rule_of(SlidingLog{10, seconds(60)});
  MemoryStore before;
  take(before, rule, "a", kStart, 10);
  take(before, log, "b", kStart, 10);
  ASSERT_TRUE(before.save(file_, kStart));
  // Three seconds later by the wall; the steady clock was mapped an hour off.
  const Instant later{kStart.steady_ns + 3'600'000'000'000, kStart.wall_ns + 3'000'000'000};
  MemoryStore after;
  ASSERT_TRUE(after.restore(file_, later));
  EXPECT_EQ(take(after, rule, "a", later, 0).remaining, 3u);
  EXPECT_EQ(take(after, log, "b", later).retry_after, seconds(57));
}

TEST_F(Snapshots, LeaveOutWhatIsFreshByThen) {
  const auto rule = rule_of(TokenBucket{Rate{1, seconds(1)}, 10});
  MemoryStore before;
  for (int i = 0; i < 10; ++i) take(before, rule, std::to_string(i), kStart, std::uint64_t(i) + 1);
  ASSERT_TRUE(before.save(file_, kStart));
  MemoryStore after;
  const auto restored = after.restore(file_, kStart + seconds(4));
  ASSERT_TRUE(restored);
  EXPECT_EQ(*restored, 6u);
}

TEST_F(Snapshots, AreForTheirOwnerAlone) {
  MemoryStore store;
  ASSERT_TRUE(store.save(file_, kStart));
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_TRUE(store.save(file_, kStart)) << "over the one before";
}

TEST_F(Snapshots, StartAfreshWhereThereIsNone) {
  MemoryStore store;
  const auto restored = store.restore(file_, kStart);
  ASSERT_TRUE(restored);
  EXPECT_EQ(*restored, 0u);
}

TEST_F(Snapshots, RefuseAFileThatIsDamagedAnywhere) {
  MemoryStore before;
  const auto rules = rules_of_every_kind();
  for (const limit::Rule& rule : rules) take(before, rule, std::to_string(rule.serial()), kStart);
  ASSERT_TRUE(before.save(file_, kStart));
  const std::string whole = bytes();
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    replace(damaged);
    MemoryStore after;
    const auto restored = after.restore(file_, kStart);
    ASSERT_FALSE(restored) << "byte " << i;
    EXPECT_EQ(restored.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(after.keys(), 0u);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, whole.size() - 1}) {
    replace(whole.substr(0, size));
    MemoryStore after;
    EXPECT_FALSE(after.restore(file_, kStart));
  }
}

TEST_F(Snapshots, SayWhichFileCannotBeWritten) {
  MemoryStore store;
  const auto saved = store.save(folder_ / "missing/counters", kStart);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_NE(saved.error().message.find("missing/counters"), std::string::npos);
}

TEST_F(Snapshots, KeepAtMostWhatTheNextStoreMayHold) {
  const auto rule = rule_of(TokenBucket{Rate{1, seconds(60)}, 5});
  MemoryStore before(MemoryOptions{20'000});
  for (int i = 0; i < 20'000; ++i) take(before, rule, std::to_string(i), kStart);
  ASSERT_TRUE(before.save(file_, kStart));
  MemoryStore after(MemoryOptions{1000});
  ASSERT_TRUE(after.restore(file_, kStart));
  EXPECT_LE(after.keys(), 1000u);
  EXPECT_EQ(after.keys() + after.evictions(), 20'000u);
}

}  // namespace
}  // namespace weir::store
