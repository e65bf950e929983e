#include "base/json.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string mistake(std::string_view text) {
  auto result = parse_json(text);
  return result ? "none" : result.error().message;
}

TEST(Json, ReadsAnObject) {
  const auto value = parse_json(R"({"a":{"b":[1,-2,0.5,true,null,"x"]}})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->at("a").at("b").as_array().size(), 6u);
}

TEST(Json, RefusesAKeyThatStandsTwiceAlsoWhenSpelledByEscapes) {
  EXPECT_EQ(mistake(R"({"ip":"1.1.1.1","ip":"2.2.2.2"})"), "key 'ip' stands twice");
  EXPECT_EQ(mistake(R"({"ip":1,"\u0069p":2})"), "key 'ip' stands twice");
  EXPECT_EQ(mistake(R"({"a":{"ip":1},"ip":2})"), "none");
}

TEST(Json, ReadsAnObjectOfManyKeysInTimeAndFindsTheOneThatStandsTwice) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(mistake(text + "\"last\":0}"), "none");
  EXPECT_EQ(mistake(text + "\"k49999\":0}"), "key 'k49999' stands twice");
  EXPECT_EQ(mistake(text + "\"k3\":0}"), "key 'k3' stands twice");
}

TEST(Json, RefusesWhatIsNotOneWholeValue) {
  for (const char* text : {"", "{", "{}x", "{} {}", "[1,]", "{'a':1}", "nul", "\"\xff\"", "01"}) {
    EXPECT_NE(mistake(text), "none") << text;
  }
  EXPECT_EQ(mistake("{} \n"), "none");
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(mistake(std::string(32, '[') + std::string(32, ']')), "none");
  EXPECT_NE(mistake(std::string(33, '[') + std::string(33, ']')), "none");
  EXPECT_NE(mistake(std::string(100'000, '[')), "none");
}

TEST(Json, WritesStringsThatEveryParserReads) {
  std::string out;
  append_json_string(out, std::string_view("a\"\\\n\0\xff\xc3\xa9", 8));
  EXPECT_EQ(out, "\"a\\\"\\\\\\u000a\\u0000\\ufffd\xc3\xa9\"");
  EXPECT_TRUE(parse_json(out));
}

}  // namespace
}  // namespace weir
