#include "wire/grpc/message.h"

#include <gtest/gtest.h>

namespace weir::grpc {
namespace {

TEST(GrpcMessage, LengthIsBigEndianBehindTheCompressionByte) {
  std::string out = "x";
  const std::size_t at = begin_message(out);
  out.append(0x10203, 'a');
  ASSERT_TRUE(finish_message(out, at));
  EXPECT_EQ(out.substr(1, 5), std::string("\0\0\x01\x02\x03", 5));
  const MessageHead head = read_message_head(std::string_view(out).substr(1));
  EXPECT_FALSE(head.compressed);
  EXPECT_EQ(head.size, 0x10203u);
}

TEST(GrpcTimeout, ReadsEveryUnit) {
  EXPECT_EQ(parse_timeout("1H"), Duration(std::chrono::hours(1)));
  EXPECT_EQ(parse_timeout("2M"), Duration(std::chrono::minutes(2)));
  EXPECT_EQ(parse_timeout("3S"), Duration(std::chrono::seconds(3)));
  EXPECT_EQ(parse_timeout("20m"), Duration(std::chrono::milliseconds(20)));
  EXPECT_EQ(parse_timeout("5u"), Duration(std::chrono::microseconds(5)));
  EXPECT_EQ(parse_timeout("99999999n"), Duration(99'999'999));
  EXPECT_EQ(parse_timeout("99999999H"), Duration::max());
}

TEST(GrpcTimeout, RefusesWhatIsNone) {
  for (const char* text : {"", "S", "1", "1s", "-1S", "999999999S", "1 S", "1.5S"}) {
    EXPECT_EQ(parse_timeout(text), std::nullopt) << text;
  }
}

TEST(GrpcStatusMessage, EncodesWhatMayNotStandInAHeader) {
  EXPECT_EQ(encode_status_message("a b%\n\xC3\xA4"), "a b%25%0A%C3%A4");
}

}  // namespace
}  // namespace weir::grpc
