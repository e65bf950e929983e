#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::log {
namespace {

TEST(Log, QuotesWhatALogfmtValueHolds) {
  const Field fields[] = {{"limit", "login"}, {"key", "user=\"a b\"\\"}};
  EXPECT_EQ(format_line(Format::kLogfmt, "refused", fields),
            R"(msg="refused" limit="login" key="user=\"a b\"\\")");
}

TEST(Log, WritesJsonThatAParserReads) {
  const Field fields[] = {{"key", "a\"b"}};
  EXPECT_EQ(format_line(Format::kJson, "refused", fields), R"("msg":"refused","key":"a\"b")");
}

// A client that could break a line could forge the next one.
TEST(Log, KeepsALineOneLineWhateverAValueHolds) {
  const std::string hostile("x\r\n\0\x1b[2J\xff\x7f", 10);
  const Field fields[] = {{"path", hostile}};
  for (const Format format : {Format::kLogfmt, Format::kJson}) {
    const std::string line = format_line(format, hostile, fields);
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  }
}

// A terminal that takes U+009B for the start of an escape sequence must not get it from a client.
TEST(Log, ShowsWhatATerminalWouldActOn) {
  const Field fields[] = {{"user",
                           "\xc2\x9b"
                           "2J\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6 \xc3\xa9"}};
  EXPECT_EQ(format_line(Format::kLogfmt, "refused", fields),
            "msg=\"refused\" user=\"\\xc2\\x9b2J\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6 "
            "\xc3\xa9\"");
}

TEST(Log, TellsAWatcherOfChangesAndNotOfRecords) {
  std::vector<std::string> seen;
  watch([&](Level level, std::string_view message) {
    seen.push_back(std::string(to_string(level)) + ": " + std::string(message));
  });
  warning("the store is slow");
  record("refused", {});
  watch(nullptr);
  info("nobody watches");
  EXPECT_EQ(seen, (std::vector<std::string>{"warning: the store is slow"}));
}

}  // namespace
}  // namespace weir::log
