#include "serve/grpc/json.h"

#include <gtest/gtest.h>

namespace weir::grpc {
namespace {

rls::Request read(const std::string& bytes) {
  const auto request = rls::read_request(bytes);
  EXPECT_TRUE(request);
  return request ? *request : rls::Request{};
}

TEST(RateLimitJson, RequestsAreReadInBothSpellings) {
  for (const char* text :
       {R"({"domain":"d","hitsAddend":3,"descriptors":[{"entries":[{"key":"k","value":"v"}],
            "limit":{"requestsPerUnit":5,"unit":"DAY"},"hitsAddend":"2"}]})",
        R"({"domain":"d","hits_addend":3,"descriptors":[{"entries":[{"key":"k","value":"v"}],
            "limit":{"requests_per_unit":5,"unit":4},"hits_addend":2}]})"}) {
    const auto bytes = request_from_json(text);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const rls::Request request = read(*bytes);
    EXPECT_EQ(request.domain, "d");
    EXPECT_EQ(request.hits_addend, 3u);
    ASSERT_EQ(request.descriptors.size(), 1u);
    EXPECT_EQ(request.descriptors[0].entries.at(0).value, "v");
    EXPECT_EQ(request.descriptors[0].limit->unit, rls::Unit::kDay);
    EXPECT_EQ(request.descriptors[0].hits_addend, 2u);
  }
}

TEST(RateLimitJson, ANullIsAMemberThatIsNotSet) {
  const auto bytes = request_from_json(
      R"({"domain":null,"hitsAddend":null,"descriptors":[
          {"entries":[{"key":"k","value":null}],"limit":null,"hitsAddend":null},
          {"entries":null,"limit":{"requestsPerUnit":null,"unit":null}}]})");
  ASSERT_TRUE(bytes) << bytes.error().message;
  const rls::Request request = read(*bytes);
  EXPECT_EQ(request.domain, "");
  EXPECT_EQ(request.hits_addend, 0u);
  ASSERT_EQ(request.descriptors.size(), 2u);
  EXPECT_EQ(request.descriptors[0].entries.at(0).key, "k");
  EXPECT_EQ(request.descriptors[0].entries.at(0).value, "");
  EXPECT_FALSE(request.descriptors[0].limit);
  EXPECT_FALSE(request.descriptors[0].hits_addend);
  EXPECT_TRUE(request.descriptors[1].entries.empty());
  EXPECT_EQ(request.descriptors[1].limit->requests_per_unit, 0u);
  EXPECT_TRUE(request_from_json(R"({"descriptors":null})"));
  EXPECT_FALSE(request_from_json(R"({"descriptors":[null]})"));
}

TEST(RateLimitJson, WrongMembersAreNamed) {
  const auto mistake = [](const char* text) {
    const auto bytes = request_from_json(text);
    return bytes ? std::string() : bytes.error().message;
  };
  EXPECT_EQ(mistake("[]"), "the body must be an object");
  EXPECT_EQ(mistake(R"({"domain":1})"), "domain must be a string");
  EXPECT_EQ(mistake(R"({"hitsAddend":-1})"),
            "hitsAddend must be a whole number that fits its field");
  EXPECT_EQ(mistake(R"({"hitsAddend":4294967296})"),
            "hitsAddend must be a whole number that fits its field");
  EXPECT_EQ(mistake(R"({"descriptors":[{"limit":{"unit":"CENTURY"}}]})"),
            "unit must be SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
  EXPECT_NE(mistake("{"), "");
}

TEST(RateLimitJson, AnswersLeaveZeroesOut) {
  rls::Response response;
  response.statuses.push_back(
      {rls::Code::kOk, rls::CurrentLimit{100, rls::Unit::kDay, ""}, 99, 41234});
  response.statuses.push_back({rls::Code::kOk, std::nullopt, 0, std::nullopt});
  std::string out;
  append_json(response, out);
  EXPECT_EQ(out,
            R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":100,)"
            R"("unit":"DAY"},"limitRemaining":99,"durationUntilReset":"41234s"},{"code":"OK"}]})");
}

}  // namespace
}  // namespace weir::grpc
