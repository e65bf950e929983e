#include "serve/grpc/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace weir::grpc {
namespace {

class BlockPool : public ::testing::Test {
 protected:
  void SetUp() override {
    if (pool_ == nullptr) GTEST_SKIP() << "the sanitizer sees to every block itself";
  }
  void* take(std::size_t size) { return pool_->malloc(size, nullptr); }
  void give_back(void* bytes) { pool_->free(bytes, nullptr); }

  nghttp2_mem* const pool_ = block_pool();
};

TEST_F(BlockPool, HandsOutABlockAgainToWhoAsksForItsSize) {
  void* const first = take(100);
  give_back(first);
  EXPECT_EQ(take(128), first);
  void* const other = take(129);
  EXPECT_NE(other, first);
  give_back(first);
  give_back(other);
  give_back(nullptr);
}

TEST_F(BlockPool, ZeroesWhatIsAskedForZeroed) {
  void* const used = take(64);
  std::memset(used, 0xff, 64);
  give_back(used);
  const auto* zeroed = static_cast<char*>(pool_->calloc(8, 8, nullptr));
  EXPECT_EQ(std::string(zeroed, 64), std::string(64, '\0'));
  give_back(const_cast<char*>(zeroed));
  EXPECT_EQ(pool_->calloc(SIZE_MAX, 2, nullptr), nullptr);
  EXPECT_EQ(take(SIZE_MAX), nullptr);
}

// Blocks of all sizes that grow, shrink and go, each with bytes of its own.
TEST_F(BlockPool, NoTwoBlocksShareAByteAndNoneLosesOne) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  struct Held {
    char* bytes;
    std::string wanted;
  };
  std::vector<Held> held;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = random() % (random() % 10 == 0 ? 5000 : 600);
    const std::size_t which = held.empty() ? 0 : random() % held.size();
    if (held.size() < 200 && random() % 2 == 0) {
      held.push_back({static_cast<char*>(take(size)), std::string(size, static_cast<char>(i))});
      std::memcpy(held.back().bytes, held.back().wanted.data(), size);
    } else if (!held.empty() && random() % 2 == 0) {
      Held& one = held[which];
      one.bytes = static_cast<char*>(pool_->realloc(one.bytes, size, nullptr));
      const std::size_t kept = std::min(size, one.wanted.size());
      ASSERT_EQ(std::string(one.bytes, kept), one.wanted.substr(0, kept));
      one.wanted.resize(size, static_cast<char>(i));
      std::memcpy(one.bytes, one.wanted.data(), size);
    } else if (!held.empty()) {
      ASSERT_EQ(std::string(held[which].bytes, held[which].wanted.size()), held[which].wanted);
      give_back(held[which].bytes);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  for (const Held& one : held) give_back(one.bytes);
}

TEST_F(BlockPool, ABlockOfOneThreadMayBeGivenBackByAnother) {
  void* block = nullptr;
  std::thread([&] {
    block = take(200);
    give_back(take(300));
  }).join();
  std::memset(block, 1, 200);
  give_back(block);
  EXPECT_EQ(take(200), block);
  give_back(block);
}

TEST_F(BlockPool, HoldsNoMoreThanItsBound) {
  const std::size_t count = 2 * kMaxHeldBytes / 1024;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(take(1024));
  const std::vector<void*> taken = blocks;
  for (void* block : blocks) give_back(block);
  // The last that fitted is the first to be handed out again: those behind it went to malloc.
  void* const again = take(1024);
  const auto place = std::find(taken.begin(), taken.end(), again) - taken.begin();
  EXPECT_LT(place, static_cast<std::ptrdiff_t>(kMaxHeldBytes / 1024));
  give_back(again);
}

}  // namespace
}  // namespace weir::grpc
