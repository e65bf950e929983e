// Structured fields: what is read, and what is refused.

#include "wire/structured_fields.h"

#include <gtest/gtest.h>

namespace weir::structured_fields {
namespace {

TEST(StructuredFields, TakesTheEscapesOutOfStrings) {
  const auto items = parse_list("\"a\\\"b\\\\c\"");
  ASSERT_TRUE(items);
  EXPECT_EQ(items->at(0).value.text, "a\"b\\c");
}

TEST(StructuredFields, ReadsEveryBareTypeInParameters) {
  const auto right =
      parse_list("\"a\";q=1;d=-1.5;s=\"x\";t=*tok/en:1;b=:aGk=:;y=?0;z; w=@12;e=%\"%c3%a4\",\"b\"");
  ASSERT_TRUE(right);
  ASSERT_EQ(right->size(), 2u);
  const Item& item = right->at(0);
  EXPECT_EQ(item.find("q")->integer, 1);
  EXPECT_EQ(item.find("d")->text, "-1.5");
  EXPECT_EQ(item.find("s")->text, "x");
  EXPECT_EQ(item.find("t")->text, "*tok/en:1");
  EXPECT_EQ(item.find("b")->text, "aGk=");
  EXPECT_EQ(item.find("y")->integer, 0);
  EXPECT_EQ(item.find("z")->integer, 1);
  EXPECT_EQ(item.find("w")->kind, Value::Kind::kDate);
  EXPECT_EQ(item.find("e")->text, "\xc3\xa4");
  EXPECT_EQ(item.find("nothing"), nullptr);
}

TEST(StructuredFields, TakesTheLastOfARepeatedParameter) {
  const auto items = parse_list("\"a\";q=1;q=2");
  ASSERT_TRUE(items);
  ASSERT_EQ(items->at(0).parameters.size(), 1u);
  EXPECT_EQ(items->at(0).find("q")->integer, 2);
}

TEST(StructuredFields, ReadsAnEmptyFieldAsAnEmptyList) {
  ASSERT_TRUE(parse_list(""));
  EXPECT_TRUE(parse_list("  ")->empty());
}

TEST(StructuredFields, RefusesMalformedFieldsWhole) {
  for (const std::string_view field : {"\"a",
                                       "\"a\\x\"",
                                       "\"a\",",
                                       ",\"a\"",
                                       "\"a\" \"b\"",
                                       "\"a\";",
                                       "\"a\";Q=1",
                                       "\"a\";q=",
                                       "\"a\";q=1000000000000000",
                                       "\"a\";q=1.",
                                       "\"a\";q=.5",
                                       "\"a\";q=1.2345",
                                       "\"a\";q=1.2.3",
                                       "\"a\";q=1234567890123.1",
                                       "\"a\";q=--1",
                                       "\"a\";q=-",
                                       "(\"a\")",
                                       "\"\xc3\xa4\"",
                                       "\"a\" ;q=1",
                                       "\"a\";b=:a",
                                       "\"a\";b=:a=b:",
                                       "\"a\";b=:a===:",
                                       "\"a\";b=?2",
                                       "\"a\";w=@1.5",
                                       "\"a\";e=%\"%C3\"",
                                       "\"a\";e=%\"%c3\"",
                                       "\"a\";e=%x",
                                       "\t\"a\""}) {
    EXPECT_FALSE(parse_list(field)) << field;
  }
}

}  // namespace
}  // namespace weir::structured_fields
