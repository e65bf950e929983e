#include "base/base64url.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64url(out, bytes);
  return out;
}

TEST(Base64Url, WritesAndReadsTheVectorsOfItsStandard) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "-_8"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encoded(bytes), text);
    EXPECT_EQ(decode_base64url(text), bytes);
  }
}

TEST(Base64Url, ReadsBackEveryByteAtEveryPlaceOfAGroup) {
  std::string bytes;
  for (int i = 0; i < 3 * 256; ++i) {
    bytes += static_cast<char>(i % 256);
    EXPECT_EQ(decode_base64url(encoded(bytes)), bytes);
  }
}

TEST(Base64Url, ReadsNothingThatItDoesNotWrite) {
  for (const std::string_view text : {"Z", "Zg==", "Zm9v+", "Zm9v/w", "Zh", "Zm9", "Zg\n", "Z g"}) {
    EXPECT_FALSE(decode_base64url(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace weir
