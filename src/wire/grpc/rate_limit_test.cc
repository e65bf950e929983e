#include "wire/grpc/rate_limit.h"

#include <gtest/gtest.h>

#include <random>

#include "wire/grpc/protobuf.h"

namespace weir::rls {
namespace {

using namespace std::string_literals;

// What protoc --encode makes of a request with two entries, an override and both addends.
const std::string kRequest =
    "\x0A\x04shop\x12\x29\x0A\x0C\x0A\x04user\x12\x04u-42\x0A\x0B\x0A\x04plan\x12\x03pro"
    "\x12\x04\x08\x64\x10\x02\x1A\x02\x08\x05\x18\x03"s;

std::string wrap(std::uint32_t field, const std::string& content, int times) {
  std::string out;
  protobuf::Writer writer(out);
  for (int i = 0; i < times; ++i) {
    const std::size_t at = writer.open(field);
    out += content;
    writer.close(at);
  }
  return out;
}

TEST(RateLimitRequest, ReadsEveryField) {
  std::string bytes = kRequest;
  bytes[7] = static_cast<char>(bytes.size() - 8 - 2);
  const auto request = read_request(bytes);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->domain, "shop");
  EXPECT_EQ(request->hits_addend, 3u);
  ASSERT_EQ(request->descriptors.size(), 1u);
  const Descriptor& descriptor = request->descriptors[0];
  ASSERT_EQ(descriptor.entries.size(), 2u);
  EXPECT_EQ(descriptor.entries[0].key, "user");
  EXPECT_EQ(descriptor.entries[0].value, "u-42");
  EXPECT_EQ(descriptor.entries[1].value, "pro");
  ASSERT_TRUE(descriptor.limit);
  EXPECT_EQ(descriptor.limit->requests_per_unit, 100u);
  EXPECT_EQ(descriptor.limit->unit, Unit::kMinute);
  EXPECT_EQ(descriptor.hits_addend, 5u);
}

TEST(RateLimitRequest, TellsAnAddendOfZeroFromNone) {
  const auto none = read_request(wrap(2, "", 1));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->descriptors[0].hits_addend, std::nullopt);
  const auto zero = read_request(wrap(2, "\x1A\x00"s, 1));
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->descriptors[0].hits_addend, 0u);
}

TEST(RateLimitRequest, TakesAsManyDescriptorsAsTheBoundAndNotOneMore) {
  EXPECT_TRUE(read_request(wrap(2, "", kMaxDescriptors)));
  const auto more = read_request(wrap(2, "", kMaxDescriptors + 1));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kExhausted);
  const auto entries = read_request(wrap(2, wrap(1, "", kMaxEntries + 1), 1));
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::kExhausted);
}

TEST(RateLimitRequest, RefusesEveryCutOfAMessageOrReadsLess) {
  std::string whole = kRequest;
  whole[7] = static_cast<char>(whole.size() - 8 - 2);
  std::mt19937 random(11);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = read_request(std::string_view(whole).substr(0, size));
    if (cut) {
      EXPECT_EQ(cut->hits_addend, 0u) << size;  // the message's last field
    }
    std::string bent = whole;
    bent[size] = static_cast<char>(random());
    (void)read_request(bent);  // must only not read beyond it: under ASan
  }
}

TEST(RateLimitResponse, WritesWhatAProtobufReaderExpects) {
  Response response;
  response.overall_code = Code::kOverLimit;
  response.statuses.push_back({Code::kOverLimit, CurrentLimit{12, Unit::kMinute, "login"}, 0, 5});
  response.statuses.push_back({Code::kOk, std::nullopt, 0, std::nullopt});
  response.headers.emplace_back("a", "b");
  response.raw_body = "no";
  response.metadata.emplace_back("limit", "login");
  std::string out;
  append_response(out, response);
  EXPECT_EQ(out,
            "\x08\x02"
            "\x12\x13\x08\x02\x12\x0B\x08\x0C\x10\x02\x1A\x05login\x22\x02\x08\x05"
            "\x12\x02\x08\x01"
            "\x1A\x06\x0A\x01"
            "a\x12\x01"
            "b"
            "\x2A\x02no"
            "\x32\x12\x0A\x10\x0A\x05limit\x12\x07\x1A\x05login"s);
}

}  // namespace
}  // namespace weir::rls
