// What is said of a request that nobody has sent.

#include "engine/explain.h"

#include <gtest/gtest.h>

#include "engine/test_request.h"

namespace weir::engine {
namespace {

using std::chrono::seconds;

policy::Policy example() {
  policy::Limit login = limit("login", bucket(5, seconds(10)), {"ip"});
  login.match = match({{"method", {"POST"}}, {"path", {"/login", "/sign-in/**"}}});
  policy::Limit user = limit("user", bucket(10), {"user|ip", "host"});
  user.tiers = {{"premium", {bucket(100), bucket(1000, seconds(60))}}};
  policy::Limit open = limit("open", bucket(3));
  open.except = {match({{"ip", {"10.0.0.0/8"}}}), match({{"path", {"~/lo.*"}}})};
  open.mode = policy::Mode::kShadow;
  policy::Limit messages = limit("messages", bucket(3));
  messages.match = match({{"message", {"*"}}});
  policy::Policy policy = policy_of({login, user, open, messages});
  policy.exempt = {match({{"path", {"/health"}}})};
  return policy;
}

std::string explained(std::string_view request) {
  const auto policy = CompiledPolicy::make(example());
  EXPECT_TRUE(policy.has_value());
  SentAttributes attributes;
  const auto read = read_request(request, (*policy)->policy(), attributes);
  return read ? explain(**policy, attributes) : read.error().message;
}

TEST(Explain, SaysWhichLimitsCountByWhatAndWhyOthersDoNot) {
  EXPECT_EQ(explained("POST /login from 203.0.113.7 user=42 tier=premium host=A.test:80"),
            "login: counts ip=203.0.113.7 by token_bucket rate 6/min burst 5, cost 1\n"
            "user: counts user=42,host=a.test by token_bucket rate 1/s burst 100 and token_bucket "
            "rate 1/min burst 1000 (tier:premium), cost 1\n"
            "open: does not apply: entry 2 of its except takes the request out\n"
            "messages: does not apply: it is for WebSocket messages only\n");
  EXPECT_EQ(explained("GET //a/../b?x=1&y"),
            "login: does not apply: method is 'GET', wanted is POST\n"
            "user: does not count: the request lacks a part of its key, and missing is skip\n"
            "open: counts all together by token_bucket rate 1/s burst 3, cost 1, as a shadow that "
            "never refuses\n"
            "messages: does not apply: it is for WebSocket messages only\n");
  EXPECT_EQ(explained("POST from 203.0.113.7").substr(0, 75),
            "login: does not apply: path is missing, wanted is /login or /sign-in/**\nuse");
  EXPECT_EQ(explained("/health"), "nothing is limited: the request is exempt\n");
}

TEST(Explain, NamesTheWordThatIsWrong) {
  const char* form = "; a request is written as: POST /login from 203.0.113.7 user=42";
  EXPECT_EQ(explained("Post /login"),
            std::string("'Post' is neither a method, a path nor name=value") + form);
  EXPECT_EQ(explained("from 1.2.3"), std::string("'1.2.3' is no IP address") + form);
  EXPECT_EQ(explained("POST from"), std::string("'' is no IP address") + form);
  EXPECT_NE(explained("usr=42").find("'usr=42' is no attribute"), std::string::npos);
  EXPECT_NE(explained("/a%").find("'/a%' path holds a %"), std::string::npos);
}

}  // namespace
}  // namespace weir::engine
