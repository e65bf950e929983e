#include "app/store_keeper.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

namespace weir::app {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr Instant kStart = at_ns(1'700'000'000'000'000'000);

class StoreKeeperTest : public testing::Test {
 protected:
  StoreKeeperTest() {
    settings_.max_keys = 1000;
    settings_.snapshot = policy::Snapshot{folder_ / "state", seconds(60)};
  }

  // One call of a bucket of one token an hour.
  bool admits(store::MemoryStore& store, Instant now) const {
    const store::Charge charge{.rule = &rule_, .counter = "login", .key = "user-42"};
    std::array<store::Answer, 1> answers;
    return store.charge_now({&charge, 1}, now, answers);
  }
  bool written() const { return fs::exists(settings_.snapshot->file); }

  support::TemporaryFolder folder_;
  policy::Store settings_;
  ManualClock clock_{kStart};
  limit::Rule rule_ = *limit::Rule::make(TokenBucket{{1, std::chrono::hours(1)}, 1});
};

TEST_F(StoreKeeperTest, WritesASnapshotEachInterval) {
  store::MemoryStore store;
  StoreKeeper keeper(store, clock_, settings_.snapshot);
  EXPECT_EQ(keeper.tend(kStart), kStart.steady_ns + StoreKeeper::kSweepEvery.count());
  keeper.tend(kStart + seconds(59));
  EXPECT_FALSE(written());
  keeper.tend(kStart + seconds(60));
  EXPECT_TRUE(written());
}

TEST_F(StoreKeeperTest, DropsWhatIsFreshThoughNobodyCalls) {
  store::MemoryStore store;
  StoreKeeper keeper(store, clock_, std::nullopt);
  ASSERT_TRUE(admits(store, kStart));
  ASSERT_EQ(store.keys(), 1u);
  keeper.tend(kStart + std::chrono::hours(1));
  EXPECT_EQ(store.keys(), 0u);
}

TEST_F(StoreKeeperTest, WhatWasUsedIsUsedAfterARestart) {
  {
    const auto store = open_memory(settings_, kStart);
    StoreKeeper keeper(*store, clock_, settings_.snapshot);
    keeper.start();
    ASSERT_TRUE(admits(*store, kStart));
    keeper.stop();
  }
  struct stat file {};
  ASSERT_EQ(stat(settings_.snapshot->file.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  const auto store = open_memory(settings_, kStart + seconds(5));
  EXPECT_FALSE(admits(*store, kStart + seconds(5)));
}

TEST_F(StoreKeeperTest, ItsThreadWakesWhenAnIntervalHasPassed) {
  store::MemoryStore store;
  StoreKeeper keeper(store, clock_, settings_.snapshot);
  keeper.start();
  clock_.await_parked(1);
  clock_.set(kStart + seconds(60));
  while (!written()) std::this_thread::yield();  // ctest ends what never comes
}

TEST_F(StoreKeeperTest, AFileOfAnotherKindIsKeptAsideAndNothingOfItIsTaken) {
  std::ofstream(settings_.snapshot->file) << "not a snapshot at all, but a list of things to do";
  const auto store = open_memory(settings_, kStart);
  EXPECT_EQ(store->keys(), 0u);
  EXPECT_FALSE(written());
  EXPECT_TRUE(fs::exists(settings_.snapshot->file + ".refused"));
}

TEST_F(StoreKeeperTest, ACutSnapshotIsKeptAsideWhereverItWasCut) {
  {
    const auto store = open_memory(settings_, kStart);
    ASSERT_TRUE(admits(*store, kStart));
    ASSERT_TRUE(store->save(settings_.snapshot->file, kStart));
  }
  const std::string& file = settings_.snapshot->file;
  const auto size = fs::file_size(file);
  fs::copy_file(file, folder_ / "whole");
  for (std::uintmax_t left = 0; left < size; ++left) {
    fs::copy_file(folder_ / "whole", file, fs::copy_options::overwrite_existing);
    fs::resize_file(file, left);
    const auto store = open_memory(settings_, kStart);
    EXPECT_EQ(store->keys(), 0u) << left << " of " << size << " bytes";
    EXPECT_TRUE(admits(*store, kStart)) << left << " of " << size << " bytes";
  }
}

TEST_F(StoreKeeperTest, AFolderThatIsMissingIsToldAndNotFatal) {
  settings_.snapshot->file = folder_ / "missing/state";
  const auto store = open_memory(settings_, kStart);
  StoreKeeper keeper(*store, clock_, settings_.snapshot);
  keeper.start();
  EXPECT_TRUE(admits(*store, kStart));
  keeper.stop();
  EXPECT_FALSE(written());
}

}  // namespace
}  // namespace weir::app
