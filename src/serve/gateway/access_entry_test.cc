// Lines of the access log, to the byte; whatever is sent, each stays one line.

#include "serve/gateway/access_entry.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>

#include "base/json.h"
#include "engine/test_engine.h"
#include "policy/path.h"
#include "serve/gateway/request_id.h"

namespace weir::gateway {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::string_view kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class Access : public engine::OverMemory {
 protected:
  std::string line(const std::string& bytes, policy::AccessFormat format,
                   const engine::Decision* decision = nullptr, int status = 200,
                   bool early = false) {
    http1::RequestParser parser;
    EXPECT_EQ(parser.parse(bytes), http1::Progress::kComplete) << bytes;
    policy::PathBuffer buffer;
    RequestFacts facts(parser.head(), buffer);
    policy::Identity identity;
    identity.trust_clients = true;
    facts.set_request_id("r-1");
    EXPECT_TRUE(facts.read(identity, {}, *IpAddress::parse("203.0.113.7"), now_));
    AccessEntry entry({"a.log", format, query_}, form_, now_);
    entry.describe(parser.head(), facts);
    if (decision != nullptr) entry.decided(*decision);
    return entry.line(status, 103, early, now_ + microseconds(213));
  }
  std::string combined(const std::string& bytes, const engine::Decision* decision = nullptr) {
    return line(bytes, policy::AccessFormat::kCombined, decision);
  }

  bool query_ = false;
  policy::KeyForm form_ = policy::KeyForm::kPlain;
};

const std::string kLogin =
    "POST /login?token=s3cret HTTP/1.1\r\nHost: h\r\nUser-Agent: curl/7.88.1\r\n"
    "Referer: http://h/a?s3cret\r\nX-User-Id: ann\r\nCookie: s3cret\r\nAuthorization: s3cret\r\n"
    "traceparent: " +
    std::string(kTrace) + "\r\n\r\n";

TEST_F(Access, ACombinedLineHasTheDecisionAtItsEnd) {
  install({engine::limit("login", engine::bucket(1, seconds(10)))});
  engine::Decision decision = decide({});
  EXPECT_EQ(combined(kLogin, &decision),
            "203.0.113.7 - ann [14/Nov/2023:22:13:20 +0000] \"POST /login HTTP/1.1\" 200 103 "
            "\"http://h/a\" \"curl/7.88.1\" request_id=r-1 "
            "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 decision=allowed limit=login source=memory "
            "seconds=0.000213\n");
  decision = decide({});
  const std::string refused = combined(kLogin, &decision);
  EXPECT_NE(refused.find(" decision=denied limit=login source=memory retry_after=10 seconds="),
            std::string::npos)
      << refused;
}

TEST_F(Access, AJsonLineIsOneObjectWithNumbersAsNumbers) {
  install({engine::limit("login", engine::bucket(0))});
  const engine::Decision decision = decide({});
  const std::string text = line(kLogin, policy::AccessFormat::kJson, &decision, 429, true);
  ASSERT_EQ(text.back(), '\n');
  const auto json = parse_json(std::string_view(text).substr(0, text.size() - 1));
  ASSERT_TRUE(json) << text;
  EXPECT_EQ(json->at("time").as_string(), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(json->at("ip").as_string(), "203.0.113.7");
  EXPECT_EQ(json->at("user").as_string(), "ann");
  EXPECT_EQ(json->at("method").as_string(), "POST");
  EXPECT_EQ(json->at("target").as_string(), "/login");
  EXPECT_EQ(json->at("status").as_int64(), 429);
  EXPECT_EQ(json->at("bytes").as_int64(), 103);
  EXPECT_EQ(json->at("decision").as_string(), "denied");
  EXPECT_EQ(json->at("reason").as_string(), "cost_exceeds_limit");
  EXPECT_EQ(json->at("ended").as_string(), "early");
  EXPECT_EQ(text.find("s3cret"), std::string::npos)
      << "neither query nor other headers stand there";
}

TEST_F(Access, QueriesStandThereWhereAskedFor) {
  query_ = true;
  const std::string text = combined(kLogin);
  EXPECT_NE(text.find("\"POST /login?token=s3cret HTTP/1.1\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"http://h/a?s3cret\""), std::string::npos) << text;
  EXPECT_NE(text.find(" decision=none "), std::string::npos) << text;
}

TEST_F(Access, WhereKeysAreNotToldNeitherAreAddressesAndUsers) {
  form_ = policy::KeyForm::kHashed;
  EXPECT_EQ(combined(kLogin).substr(0, 7), "- - - [");
  EXPECT_EQ(line(kLogin, policy::AccessFormat::kJson).find("ann"), std::string::npos);
}

TEST_F(Access, WhatIsNotPrintableIsEscapedAndNothingForgesAFieldOrALine) {
  const std::string text = combined(
      "GET /a HTTP/1.1\r\nHost: h\r\nX-User-Id: a b\xff\r\nUser-Agent: \" 200 1 \"x\t\\\r\n"
      "Referer: \xe4\xb8\xad\r\n\r\n");
  EXPECT_EQ(text.find("203.0.113.7 - a\\x20b\\xFF ["), 0u) << text;
  EXPECT_NE(text.find("\"\\xE4\\xB8\\xAD\" \"\\x22 200 1 \\x22x\\x09\\x5C\""), std::string::npos)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(Access, LongValuesAreCut) {
  const std::string text =
      combined("GET /" + std::string(5000, 'p') +
               " HTTP/1.1\r\nHost: h\r\nUser-Agent: " + std::string(5000, 'u') + "\r\n\r\n");
  EXPECT_LT(text.size(), 3500u);
  EXPECT_NE(text.find("ppp... HTTP/1.1\""), std::string::npos);
}

TEST_F(Access, WhatIsNoRequestHasALineThatTellsItsPeer) {
  const auto line = [this](policy::AccessFormat format) {
    AccessEntry entry({"a.log", format, false}, form_, now_);
    entry.describe("203.0.113.7", "id1");
    return entry.line(400, 10, false, now_);
  };
  EXPECT_EQ(line(policy::AccessFormat::kCombined),
            "203.0.113.7 - - [14/Nov/2023:22:13:20 +0000] \"-\" 400 10 \"-\" \"-\" decision=none "
            "request_id=id1 seconds=0.000000\n");
  EXPECT_EQ(line(policy::AccessFormat::kJson),
            "{\"time\":\"2023-11-14T22:13:20.000Z\",\"ip\":\"203.0.113.7\",\"status\":400,"
            "\"bytes\":10,\"decision\":\"none\",\"request_id\":\"id1\",\"seconds\":0.000000}\n");
  form_ = policy::KeyForm::kHashed;
  EXPECT_EQ(line(policy::AccessFormat::kCombined).find("203"), std::string::npos);
  EXPECT_EQ(line(policy::AccessFormat::kJson).find("203.0"), std::string::npos);
}

TEST(RequestId, OnlyPlainTextOfBoundedLengthIsOne) {
  EXPECT_TRUE(is_request_id("0af7651916cd43dd8448eb211c80319c"));
  EXPECT_TRUE(is_request_id("a-b_c.D:/+=@~9"));
  EXPECT_TRUE(is_request_id(std::string(128, 'a')));
  for (const std::string& bad :
       {std::string(), std::string(129, 'a'), std::string("a b"), std::string("a\tb"),
        std::string("a\"b"), std::string("\xc3\xa9")}) {
    EXPECT_FALSE(is_request_id(bad)) << bad;
  }
}

TEST(RequestId, NoTwoAreTheSame) {
  RequestIds one;
  RequestIds other;
  std::vector<std::string> made;
  for (int i = 0; i < 1000; ++i) {
    one.append_next(made.emplace_back());
    other.append_next(made.emplace_back());
  }
  for (const std::string& id : made) ASSERT_TRUE(id.size() == 32 && is_request_id(id)) << id;
  std::sort(made.begin(), made.end());
  EXPECT_EQ(std::adjacent_find(made.begin(), made.end()), made.end());
}

}  // namespace
}  // namespace weir::gateway
