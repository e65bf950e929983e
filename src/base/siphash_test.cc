#include "base/siphash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

namespace weir {
namespace {

std::string hex(const Hash128& hash) {
  unsigned char bytes[16];
  std::memcpy(bytes, &hash.low, 8);
  std::memcpy(bytes + 8, &hash.high, 8);
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

constexpr SipKey kVectorKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::string counting_bytes(int length) {
  std::string bytes;
  for (int i = 0; i < length; ++i) bytes += static_cast<char>(i);
  return bytes;
}

// From the authors' reference implementation: key 00..0f, input 00, 01, 02, ...
TEST(SipHash, AgreesWithThePublishedVectors) {
  const std::map<int, std::string> vectors = {
      {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},
      {2, "8177228da4a45dc7fca38bdef60affe4"},  {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
      {8, "3b62a9ba6258f5610f83e264f31497b4"},  {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
      {16, "6ee2a4ca67b054bbfd3315bf85230577"}, {63, "5150d1772f50834a503e069a973fbd7c"}};
  for (const auto& [length, expected] : vectors) {
    SipHash hash(kVectorKey);
    hash.add(counting_bytes(length));
    EXPECT_EQ(hex(hash.finish()), expected) << length << " bytes";
  }
}

TEST(SipHash, DoesNotCareHowItsInputIsCut) {
  const std::string bytes = counting_bytes(63);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    SipHash hash(kVectorKey);
    hash.add(std::string_view(bytes).substr(0, first));
    hash.add(std::string_view(bytes).substr(first));
    EXPECT_EQ(hex(hash.finish()), "5150d1772f50834a503e069a973fbd7c") << "cut at " << first;
  }
}

TEST(SipHash, TakesAWordAsItsEightBytesWhereverItFalls) {
  const std::uint64_t word = 0x0b0a090807060504;
  SipHash words(kVectorKey);
  words.add(counting_bytes(4));
  words.add_word(word);
  words.add("\x0c\x0d\x0e");
  EXPECT_EQ(hex(words.finish()), "5493e99933b0a8117e08ec0f97cfc3d9");
}

TEST(SipHash, TwoRandomKeysDiffer) {
  const SipKey a = random_sip_key();
  const SipKey b = random_sip_key();
  EXPECT_FALSE(a.k0 == b.k0 && a.k1 == b.k1);
}

}  // namespace
}  // namespace weir
