#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <string>
#include <utility>

namespace weir {
namespace {

constexpr SipKey kSecret{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::pair<std::uint64_t, std::uint64_t> parts(const Hash128& hash) {
  return {hash.low, hash.high};
}

class KeyedHashForms : public ::testing::TestWithParam<KeyedHash::Form> {
 protected:
  void SetUp() override {
    if (GetParam() != KeyedHash::Form::kSipHash && GetParam() != KeyedHash::best()) {
      GTEST_SKIP() << "this machine has no AES instructions";
    }
  }
};

TEST_P(KeyedHashForms, TellsApartTextsOfEveryLengthAndEveryByteOfThem) {
  const KeyedHash hash(kSecret, GetParam());
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t texts = 0;
  for (std::size_t size = 0; size <= 150; ++size) {
    std::string text(size, '\0');
    seen.insert(parts(hash("limit", text)));
    ++texts;
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = '\1';
      seen.insert(parts(hash("limit", text)));
      seen.insert(parts(hash(text, "limit")));
      text[i] = '\0';
      texts += 2;
    }
  }
  EXPECT_EQ(seen.size(), texts);
}

TEST_P(KeyedHashForms, TellsApartPairsThatJoinToTheSameText) {
  const KeyedHash hash(kSecret, GetParam());
  const std::string text = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    seen.insert(parts(hash(text.substr(0, cut), text.substr(cut))));
  }
  EXPECT_EQ(seen.size(), text.size() + 1);
}

TEST_P(KeyedHashForms, GivesTheSameForANameThatWasHashedBefore) {
  const KeyedHash hash(kSecret, GetParam());
  const std::string text(200, 'x');
  for (std::size_t name = 0; name <= 100; name += 7) {
    const std::string_view before = std::string_view(text).substr(0, name);
    const KeyedHash::Name once = hash.name(before);
    for (std::size_t key = 0; key <= 100; ++key) {
      const std::string_view after = std::string_view(text).substr(0, key);
      ASSERT_EQ(hash(once, after), hash(before, after)) << name << " and " << key;
    }
  }
}

TEST_P(KeyedHashForms, DependsOnBothHalvesOfTheSecret) {
  const Hash128 value = KeyedHash(kSecret, GetParam())("limit", "key");
  EXPECT_EQ(value, KeyedHash(kSecret, GetParam())("limit", "key"));
  EXPECT_NE(value, KeyedHash({kSecret.k0 + 1, kSecret.k1}, GetParam())("limit", "key"));
  EXPECT_NE(value, KeyedHash({kSecret.k0, kSecret.k1 + 1}, GetParam())("limit", "key"));
}

TEST_P(KeyedHashForms, ChangesHalfOfItsBitsWithOneBitOfTheKey) {
  const KeyedHash hash(kSecret, GetParam());
  int changed = 0;
  constexpr int kTexts = 4000;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = "user:" + std::to_string(i);
    const Hash128 before = hash("limit", text);
    text.back() = static_cast<char>(text.back() ^ 1);
    const Hash128 after = hash("limit", text);
    changed += std::popcount(before.low ^ after.low) + std::popcount(before.high ^ after.high);
  }
  EXPECT_NEAR(changed, 64 * kTexts, kTexts);
}

TEST_P(KeyedHashForms, SpreadsConsecutiveKeysOverTheFirstBits) {
  const KeyedHash hash(kSecret, GetParam());
  std::array<int, 256> low{}, high{};
  for (int i = 0; i < 256 * 256; ++i) {
    const Hash128 value = hash("limit", std::to_string(i));
    ++low[value.low & 255];
    ++high[value.high & 255];
  }
  for (const int count : low) EXPECT_NEAR(count, 256, 110);
  for (const int count : high) EXPECT_NEAR(count, 256, 110);
}

INSTANTIATE_TEST_SUITE_P(KeyedHash, KeyedHashForms,
                         ::testing::Values(KeyedHash::Form::kSipHash, KeyedHash::Form::kAes),
                         [](const auto& tested) {
                           return tested.param == KeyedHash::Form::kAes ? "Aes" : "SipHash";
                         });

}  // namespace
}  // namespace weir
