// The bodies that an operator words: what is filled in, how it is escaped, and what is refused.

#include "policy/body_template.h"

#include <gtest/gtest.h>

namespace weir::policy {
namespace {

BodyTemplate::Values values() {
  return {429, "RATE_LIMITED", "too many requests, retry after 5s", "login", "", 5, 10,
          0,   1767225605};
}

std::string rendered(std::string_view name, std::string_view text,
                     const BodyTemplate::Values& with = values()) {
  const auto made = BodyTemplate::parse(name, text);
  if (!made) return "mistake: " + made.error().message;
  std::string out;
  made->render(with, out);
  return out;
}

TEST(BodyTemplate, EveryPlaceholderIsFilledIn) {
  EXPECT_EQ(rendered("a.txt",
                     "{{status}} {{code}} {{ message }} {{limit}} [{{reason}}] {{retry_after}} "
                     "{{quota}} {{remaining}} {{reset}}"),
            "429 RATE_LIMITED too many requests, retry after 5s login [] 5 10 0 1767225605");
}

TEST(BodyTemplate, TextWithoutAPlaceholderStaysByteForByte) {
  EXPECT_EQ(rendered("a.txt", "50 % \"off\" {x} }} é\n"), "50 % \"off\" {x} }} é\n");
  EXPECT_EQ(rendered("a.txt", ""), "");
}

TEST(BodyTemplate, ABackslashKeepsTheBraces) {
  EXPECT_EQ(rendered("a.txt", "\\{{limit}} {{limit}}"), "{{limit}} login");
}

TEST(BodyTemplate, ValuesAreEscapedAsTheKindOfFileWantsIt) {
  BodyTemplate::Values odd = values();
  odd.message = "\"<a&b>'\\\n";
  EXPECT_EQ(rendered("a.json", "{\"m\":\"{{message}}\"}", odd),
            "{\"m\":\"\\\"<a&b>'\\\\\\u000a\"}");
  EXPECT_EQ(rendered("a.html", "{{message}}", odd), "&quot;&lt;a&amp;b&gt;&#39;\\\n");
  EXPECT_EQ(rendered("a.xml", "{{message}}", odd), "&quot;&lt;a&amp;b&gt;&#39;\\\n");
  EXPECT_EQ(rendered("a.txt", "{{message}}", odd), "\"<a&b>'\\\n");
}

TEST(BodyTemplate, ANumberThatThereIsNoneOfIsNullInJsonAndNothingElsewhere) {
  BodyTemplate::Values none = values();
  none.retry_after.reset();
  EXPECT_EQ(rendered("a.json", "[{{retry_after}}]", none), "[null]");
  EXPECT_EQ(rendered("a.txt", "[{{retry_after}}]", none), "[]");
}

TEST(BodyTemplate, AnUnknownPlaceholderIsNamedWithItsLine) {
  const std::string told = rendered("a.txt", "one\n two {{retry_afer}}");
  EXPECT_EQ(told.find("mistake: line 2: 'retry_afer' is no placeholder, there are status, code,"),
            0u)
      << told;
  EXPECT_NE(rendered("a.txt", "{{limit").find("line 1: {{ is not closed"), std::string::npos);
}

TEST(BodyTemplate, AJsonFileThatWouldNotBeJsonIsRefused) {
  EXPECT_NE(rendered("a.json", "{\"limit\": {{limit}}}").find("would not be JSON"),
            std::string::npos);
  EXPECT_NE(rendered("a.json", "{").find("would not be JSON"), std::string::npos);
}

TEST(BodyTemplate, TheNameSaysWhatItHolds) {
  EXPECT_EQ(BodyTemplate::parse("a.json", "{}")->content_type(), "application/json");
  EXPECT_EQ(BodyTemplate::parse("a.htm", "")->content_type(), "text/html; charset=utf-8");
  EXPECT_NE(rendered("a.tmpl", "").find("wants a name that ends in .json"), std::string::npos);
  EXPECT_NE(rendered("a.txt", "\xff").find("is not UTF-8"), std::string::npos);
}

TEST(BodyTemplate, AFileThatIsMissingOrTooLargeIsNamed) {
  const auto missing = BodyTemplate::load("/nowhere/a.txt");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "'/nowhere/a.txt' cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace weir::policy
