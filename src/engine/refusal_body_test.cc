// The bodies of refusals, to the byte, in every form.

#include "engine/refusal_body.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "engine/answer.h"
#include "engine/test_engine.h"
#include "policy/body_template.h"

namespace weir::engine {
namespace {

using std::chrono::seconds;

constexpr std::string_view kTypes = "https://iana.org/assignments/http-problem-types#";

class RefusalBody : public OverMemory {
 protected:
  static policy::Limit bucket_of(const std::string& name, std::uint64_t burst) {
    return limit(name, bucket(burst, seconds(10)));
  }
  void install_with(policy::BodyFormat format, std::vector<policy::Limit> limits) {
    policy::Policy policy = policy_of(std::move(limits));
    policy.response.body = format;
    install(std::move(policy));
  }
  void install_template(const std::string& name, const std::string& text,
                        std::vector<policy::Limit> limits) {
    policy::Policy policy = policy_of(std::move(limits));
    auto made = policy::BodyTemplate::parse(name, text);
    ASSERT_TRUE(made) << made.error().message;
    policy.response.body = policy::BodyFormat::kTemplate;
    policy.response.body_template = std::make_shared<const policy::BodyTemplate>(std::move(*made));
    install(std::move(policy));
  }
  static std::string body(const Decision& decision, std::string_view type) {
    std::string out;
    EXPECT_EQ(append_refusal_body(decision, out), type);
    return out;
  }
};

TEST_F(RefusalBody, AProblemNamesEveryLimitThatRefused) {
  policy::Limit shadow = bucket_of("shadow", 0);
  shadow.mode = policy::Mode::kShadow;
  install_with(policy::BodyFormat::kProblemJson,
               {bucket_of("daily", 1), bucket_of("plenty", 100), bucket_of("burst", 1), shadow});
  decide({});
  EXPECT_EQ(body(decide({}), "application/problem+json"),
            "{\"type\":\"" + std::string(kTypes) +
                "quota-exceeded\",\"title\":\"Quota exceeded\",\"status\":429,"
                "\"detail\":\"too many requests, retry after 10s\",\"code\":\"RATE_LIMITED\","
                "\"limit\":\"daily\",\"retry_after\":10,"
                "\"violated-policies\":[\"daily\",\"burst\"]}");
}

TEST_F(RefusalBody, AProblemWithoutAWaitSaysWhy) {
  install_with(policy::BodyFormat::kProblemJson, {bucket_of("login", 5)});
  const std::string text = body(decide({}, 6), "application/problem+json");
  const auto json = parse_json(text);
  ASSERT_TRUE(json) << text;
  EXPECT_EQ(json->at("type").as_string(), std::string(kTypes) + "quota-exceeded");
  EXPECT_TRUE(json->at("retry_after").is_null());
  EXPECT_EQ(json->at("reason").as_string(), "cost_exceeds_limit");
}

TEST_F(RefusalBody, ARequestThatCannotBeCountedIsNoQuotaExceeded) {
  policy::Limit keyed = limit("by_user", bucket(5, seconds(10)), {"user"});
  keyed.missing = policy::Missing::kDeny;
  install_with(policy::BodyFormat::kProblemJson, {keyed});
  const auto json = parse_json(body(decide({}), "application/problem+json"));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("type").as_string(), "about:blank");
  EXPECT_EQ(json->at("reason").as_string(), "missing_key");
}

TEST_F(RefusalBody, TheListOfViolatedPoliciesIsBounded) {
  std::vector<policy::Limit> limits;
  for (int i = 0; i < 20; ++i) limits.push_back(bucket_of("l" + std::to_string(i), 0));
  install_with(policy::BodyFormat::kProblemJson, limits);
  const auto json = parse_json(body(decide({}), "application/problem+json"));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("violated-policies").as_array().size(), AnswerHeaders::kMaxItems);
}

TEST_F(RefusalBody, ATemplateSaysWhatTheHeadersSay) {
  install_template("refusal.json",
                   "{\"error\":{\"limit\":\"{{limit}}\",\"of\":{{quota}},\"left\":{{remaining}},"
                   "\"wait\":{{retry_after}},\"at\":{{reset}},\"status\":{{status}}}}",
                   {bucket_of("login", 1)});
  decide({});
  EXPECT_EQ(body(decide({}), "application/json"),
            "{\"error\":{\"limit\":\"login\",\"of\":1,\"left\":0,\"wait\":10,\"at\":1700000010,"
            "\"status\":429}}");
}

TEST_F(RefusalBody, ATemplateWithoutAWaitHasNull) {
  install_template("refusal.json", "[{{retry_after}},\"{{reason}}\"]", {bucket_of("login", 1)});
  EXPECT_EQ(body(decide({}, 2), "application/json"), "[null,\"cost_exceeds_limit\"]");
}

}  // namespace
}  // namespace weir::engine
