#include "serve/api/check_request.h"

#include <gtest/gtest.h>

#include "serve/api/plain_check.h"

namespace weir::api {
namespace {

using policy::Attribute;

struct Row {
  std::string body;
  std::string mistake;  // "field: message", or empty where there is none
};

std::string mistake_in(const std::string& body) {
  policy::Policy policy;
  policy.attributes = {"plan"};
  CheckBody request;
  const auto bad = read_check(body, policy, request);
  return bad ? bad->field + ": " + bad->message : "";
}

TEST(CheckRequest, NamesTheFieldThatIsWrongAndWhatIsAllowed) {
  const std::string cost = "cost: must be a whole number from 0 to 18446744073709551615";
  const Row table[] = {
      {R"({"attributes":{}})", ""},
      {R"({"attributes":{"ip":"203.0.113.7","plan":"free"},"cost":0})", ""},
      {R"({"attributes":{},"cost":18446744073709551615})", ""},
      {R"({"attributes":{},"cost":18446744073709551616})", cost},
      {R"({"attributes":{},"cost":-1})", cost},
      {R"({"attributes":{},"cost":0.5})", cost},
      {R"({"attributes":{},"cost":1.0})", cost},
      {R"({"attributes":{},"cost":"1"})", cost},
      {R"({"cost":1})", "attributes: is missing"},
      {R"({"attributes":[]})", "attributes: must be an object of strings"},
      {R"({"attributes":{"user":42}})", "attributes.user: must be a string"},
      {R"({"attributes":{"ip":"1.2.3"}})", "attributes.ip: is no IP address"},
      {R"({"attributes":{"ip":"01.02.03.04"}})", "attributes.ip: is no IP address"},
      {R"({"attributes":{"path":"/a#b"}})",
       "attributes.path: request target holds a fragment; leave out '#' and what follows"},
      {R"({"attributes":{"header.X-A":"1","header.x-a":"2"}})",
       "attributes.header.x-a: is named twice"},
      {R"({"attributes":{},"attribtues":{}})",
       "attribtues: is not known here; there are attributes and cost"},
      {R"({"checks":[]})", ""},
      {R"({"checks":[{"attributes":{}},{"attributes":{"ip":"x"}}]})",
       "checks[1].attributes.ip: is no IP address"},
      {R"({"checks":[1]})", "checks[0]: must be an object"},
      {R"({"checks":[],"cost":1})", "checks: stands alone: attributes and cost go inside"},
      {R"({"key":"k","rate":"1/s"})",
       "key: ad-hoc limits are off: the policy has to say api.adhoc: true"},
      {R"([])", ": the body must be an object"},
      {R"({"attributes":{"user":"a","user":"b"}})", ": key 'user' stands twice"},
  };
  for (const Row& row : table) EXPECT_EQ(mistake_in(row.body), row.mistake) << row.body;
  EXPECT_NE(mistake_in(R"({"attributes":{"tenant":"a"}})").find("is no attribute"),
            std::string::npos);
  EXPECT_NE(mistake_in("{").find("not JSON"), std::string::npos);
}

TEST(CheckRequest, NormalisesAddressesPathsAndHostsAsTheGatewayWould) {
  const policy::Policy policy;
  CheckBody body;
  const auto bad = read_check(
      R"({"attributes":{"ip":"::ffff:203.0.113.7","path":"//a/./b/?x=1","host":"API.Test:443"}})",
      policy, body);
  ASSERT_FALSE(bad) << bad->field << bad->message;
  ASSERT_EQ(body.checks.size(), 1u);
  const CheckRequest& request = body.checks[0];
  EXPECT_EQ(request.attributes.ip(), IpAddress::parse("203.0.113.7"));
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kPath, ""}), "/a/b");
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kHost, ""}), "api.test");
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kUser, ""}), std::nullopt);
  EXPECT_EQ(request.cost, std::nullopt);

  CheckBody absolute;
  EXPECT_FALSE(read_check(R"({"attributes":{"path":"http://h/a//b?x"}})", policy, absolute));
  EXPECT_EQ(absolute.checks[0].attributes.find(Attribute{Attribute::Kind::kPath, ""}), "/a/b");
}

TEST(PlainCheck, TakesWhatCanBeReadInOneWayAndDeclinesAllElse) {
  struct Body {
    const char* text;
    bool taken;
  };
  const Body table[] = {
      {R"({"attributes":{"ip":"203.0.113.7","path":"/a","plan":"free"},"cost":12})", true},
      {" { \"cost\" : 0 , \"attributes\" : { } } \n", true},
      {R"({"attributes":{},"cost":999999999999999999})", true},
      {R"({"attributes":{},"cost":1000000000000000000})", false},  // right, but long
      {R"({"attributes":{},"cost":01})", false},
      {R"({"attributes":{},"cost":1.0})", false},
      {R"({"attributes":{},"cost":1e3})", false},
      {R"({"attributes":{},"cost":-1})", false},
      {R"({"attributes":{},"cost":1,"cost":1})", false},
      {R"({"attributes":{},"attributes":{}})", false},
      {R"({"attributes":{"user":"","user":"b"}})", false},
      {R"({"attributes":{"user":"a","user":"b"}})", false},
      {R"({"attributes":{"ip":"1.2.3.4","ip":"1.2.3.4"}})", false},
      {R"({"attributes":{"ip":"1.2.3"}})", false},
      {R"({"attributes":{"user":"a\u0041"}})", false},
      {"{\"attributes\":{\"user\":\"\xc3\xa4\"}}", false},
      {"{\"attributes\":{\"user\":\"a\tb\"}}", false},
      {R"({"attributes":{"user":"a",}})", false},
      {R"({"attributes":{"user":"a"},})", false},
      {R"({"attributes":{"user":"a"}} x)", false},
      {R"({"attributes":{"user":"a")", false},
      {R"({"attributes":{"user)", false},
      {R"({"cost":1})", false},
      {R"({"checks":[]})", false},
      {"", false},
  };
  policy::Policy policy;
  policy.attributes = {"plan"};
  for (const Body& body : table) {
    CheckRequest plain;
    CheckBody strict;
    EXPECT_EQ(read_plain_check(body.text, policy, plain), body.taken) << body.text;
    const auto bad = read_check_strictly(body.text, policy, strict);
    if (!body.taken) continue;
    ASSERT_FALSE(bad) << body.text;
    EXPECT_EQ(plain.cost, strict.checks[0].cost) << body.text;
    EXPECT_EQ(plain.attributes.ip(), strict.checks[0].attributes.ip()) << body.text;
  }
}

TEST(CheckRequest, AReaderThatIsUsedAgainKeepsNothingOfTheCallBefore) {
  const policy::Policy policy;
  const Attribute user{Attribute::Kind::kUser, ""};
  CheckBody body;
  ASSERT_FALSE(read_check(R"({"attributes":{"user":"a","ip":"1.2.3.4"},"cost":3})", policy, body));
  ASSERT_FALSE(read_check(R"({"attributes":{"method":"GET"}})", policy, body));
  EXPECT_EQ(body.checks[0].attributes.find(user), std::nullopt);
  EXPECT_EQ(body.checks[0].attributes.ip(), std::nullopt);
  EXPECT_EQ(body.checks[0].cost, std::nullopt);
  ASSERT_FALSE(read_check(R"({"checks":[{"attributes":{}},{"attributes":{}}]})", policy, body));
  ASSERT_FALSE(read_check(R"({"attributes":{"user":"b"}})", policy, body));
  EXPECT_FALSE(body.batch);
  ASSERT_EQ(body.checks.size(), 1u);
  EXPECT_EQ(body.checks[0].attributes.find(user), "b");
}

TEST(CheckRequest, AdhocNumbersAreReadAsAPolicyWouldWriteThem) {
  policy::Policy policy;
  policy.api.emplace().adhoc = true;
  CheckBody body;
  ASSERT_FALSE(read_check(R"({"key":"user:1","rate":"10/60s","cost":2})", policy, body));
  const CheckRequest& request = body.checks[0];
  EXPECT_TRUE(request.adhoc);
  EXPECT_EQ(request.numbers.burst, 10u);
  EXPECT_EQ(request.numbers.rate, (Rate{1, std::chrono::seconds(6)}));
  EXPECT_EQ(request.cost, 2u);
  const auto bad = [&](const char* text) {
    CheckBody unused;
    const auto told = read_check(text, policy, unused);
    return told ? told->field : "";
  };
  EXPECT_EQ(bad(R"({"key":"k"})"), "rate");
  EXPECT_EQ(bad(R"({"rate":"1/s"})"), "key");
  EXPECT_EQ(bad(R"({"key":"k","rate":"fast"})"), "rate");
  EXPECT_EQ(bad(R"({"key":"k","rate":"1/s","burst":-1})"), "burst");
}

TEST(CheckRequest, AnEmptyUserIsNoneAsInTheGateway) {
  CheckBody body;
  ASSERT_FALSE(read_check(R"({"attributes":{"user":"","tier":""}})", policy::Policy{}, body));
  const CheckRequest& request = body.checks[0];
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kUser, ""}), std::nullopt);
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kTier, ""}), std::nullopt);
}

}  // namespace
}  // namespace weir::api
