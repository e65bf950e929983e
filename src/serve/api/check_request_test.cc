#include "serve/api/check_request.h"

#include <gtest/gtest.h>

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
  CheckRequest request;
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
       "attributes.header.x-a: is named twice, spelled differently"},
      {R"({"attributes":{},"attribtues":{}})",
       "attribtues: is not known here; there are attributes and cost"},
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
  CheckRequest request;
  const auto bad = read_check(
      R"({"attributes":{"ip":"::ffff:203.0.113.7","path":"//a/./b/?x=1","host":"API.Test:443"}})",
      policy, request);
  ASSERT_FALSE(bad) << bad->field << bad->message;
  EXPECT_EQ(request.attributes.ip(), IpAddress::parse("203.0.113.7"));
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kPath, ""}), "/a/b");
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kHost, ""}), "api.test");
  EXPECT_EQ(request.attributes.find(Attribute{Attribute::Kind::kUser, ""}), std::nullopt);
  EXPECT_EQ(request.cost, std::nullopt);

  CheckRequest absolute;
  EXPECT_FALSE(read_check(R"({"attributes":{"path":"http://h/a//b?x"}})", policy, absolute));
  EXPECT_EQ(absolute.attributes.find(Attribute{Attribute::Kind::kPath, ""}), "/a/b");
}

}  // namespace
}  // namespace weir::api
