#include "base/json_fields.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace weir {
namespace {

// What one pointer leads to, as text; "?" where that has none; what is wrong with the text else.
std::string at(const std::string& pointer, std::string_view text) {
  std::vector<JsonScalar> values;
  const auto read = JsonFields({pointer}).read(text, values);
  if (!read) return read.error().message;
  return values[0].has_text() ? values[0].text : "?";
}

std::string as_json(std::string_view text) {
  std::vector<JsonScalar> values;
  EXPECT_TRUE(JsonFields({"/id"}).read(text, values));
  std::string out;
  append_json(out, values[0]);
  return out;
}

TEST(JsonFields, FollowsPointersThroughObjectsAndArrays) {
  EXPECT_EQ(at("/type", R"({"type":"query"})"), "query");
  EXPECT_EQ(at("/a/b", R"({"x":{"a":{"b":1}},"a":{"c":2,"b":3}})"), "3");
  EXPECT_EQ(at("/a/1/t", R"({"a":[{"t":"no"},{"t":"yes"},{"t":"no"}]})"), "yes");
  EXPECT_EQ(at("/0", "[true]"), "true");
  EXPECT_EQ(at("/a~1b/m~0n", R"({"a/b":{"m~n":"x"}})"), "x");
  EXPECT_EQ(at("/a/00", R"({"a":["x"]})"), "?");
}

TEST(JsonFields, HasNoTextForWhatIsMissingOrNotOneValue) {
  for (const char* text : {"{}", "[]", "1", R"({"a":null})", R"({"a":{}})", R"({"a":[1]})",
                           R"({"b":{"a":1}})", R"([{"a":1}])"}) {
    EXPECT_EQ(at("/a", text), "?") << text;
  }
}

TEST(JsonFields, ReadsSeveralPointersAtOnceAlsoOneBelowAnother) {
  std::vector<JsonScalar> values;
  const JsonFields fields({"/a", "/a/b", "/c", "/a"});
  ASSERT_TRUE(fields.read(R"({"c":"x","a":{"b":7}})", values));
  EXPECT_EQ(values[0].kind, JsonScalar::Kind::kNested);
  EXPECT_EQ(values[1].text, "7");
  EXPECT_EQ(values[2].text, "x");
  EXPECT_EQ(values[3].kind, JsonScalar::Kind::kNested);
  ASSERT_TRUE(fields.read("{}", values));
  EXPECT_EQ(values[1].kind, JsonScalar::Kind::kAbsent) << "nothing stays from the text before";
}

TEST(JsonFields, RefusesAKeyOfAPointerThatStandsTwiceHoweverSpelled) {
  EXPECT_EQ(at("/type", R"({"type":"ping","type":"query"})"), "key 'type' stands twice");
  EXPECT_EQ(at("/type", R"({"type":"ping","\u0074ype":"query"})"), "key 'type' stands twice");
  EXPECT_EQ(at("/a/b", R"({"a":{"b":1},"a":{"b":2}})"), "key 'a' stands twice");
  EXPECT_EQ(at("/a/b", R"({"a":{"b":1,"b":2}})"), "key 'b' stands twice");
}

TEST(JsonFields, DoesNotMindOtherKeysThatStandTwice) {
  EXPECT_EQ(at("/a/b", R"({"b":1,"b":2,"x":{"b":1,"b":1},"a":{"b":3}})"), "3");
}

TEST(JsonFields, SpellsANumberOneWay) {
  EXPECT_EQ(at("/n", R"({"n":1e3})"), "1000");
  EXPECT_EQ(at("/n", R"({"n":1.50})"), "1.5");
  EXPECT_EQ(at("/n", R"({"n":1.0})"), "1");
  EXPECT_EQ(at("/n", R"({"n":-7})"), "-7");
  EXPECT_EQ(at("/n", R"({"n":123456789012345678901234567890})"), "123456789012345678901234567890");
  EXPECT_EQ(at("/n", R"({"n":1e308})").size(), 309u);
  EXPECT_EQ(at("/n", R"({"n":5e-324})").size(), 326u);
}

TEST(JsonFields, ReadsStringsWithEscapesAndOfAnyLength) {
  EXPECT_EQ(at("/s", R"({"s":"a\u00e9\n\ud83d\ude00b"})"), "a\u00e9\n\U0001F600b");
  const std::string is_long(100'000, 'x');
  EXPECT_EQ(at("/s", "{\"s\":\"\\n" + is_long + "\"}"), "\n" + is_long);
  EXPECT_EQ(at("/s", "{\"" + is_long + "\":1,\"s\":\"y\"}"), "y");
}

TEST(JsonFields, WritesAValueAsItWasSent) {
  EXPECT_EQ(as_json(R"({"id":"a\"\u0001"})"), R"("a\"\u0001")");
  EXPECT_EQ(as_json(R"({"id":1.50e2})"), "1.50e2");
  EXPECT_EQ(as_json(R"({"id":18446744073709551616})"), "18446744073709551616");
  EXPECT_EQ(as_json(R"({"id":false})"), "false");
  EXPECT_EQ(as_json(R"({"id":{"a":1}})"), "null");
  EXPECT_EQ(as_json("{}"), "null");
}

TEST(JsonFields, RefusesWhatIsNotOneWholeValue) {
  for (const char* text : {"", " ", "{", "{}x", "{} {}", "[1,]", "{'a':1}", "nul", "\"\xff\"", "01",
                           R"({"a":"\ud800"})", "// {}", "{\"a\":1,}"}) {
    EXPECT_EQ(at("/a", text).substr(0, 8), "not JSON") << text;
  }
  EXPECT_EQ(at("/a", "{} \n"), "?");
}

TEST(JsonFields, RefusesDeepNesting) {
  EXPECT_EQ(at("/a", std::string(32, '[') + std::string(32, ']')), "?");
  EXPECT_NE(at("/a", std::string(33, '[') + std::string(33, ']')), "?");
  EXPECT_NE(at("/a", std::string(1'000'000, '[')), "?");
}

}  // namespace
}  // namespace weir
