#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <vector>

#include "base/check.h"

namespace weir::log {
namespace {

// Standard error as a pipe that is read when asked.
class Piped {
 public:
  Piped() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~Piped() {
    ::dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) ::close(fd);
  }
  // What it has held until `end` came.
  std::string read_until(std::string_view end) const {
    std::string all;
    std::array<char, 65536> some;
    while (all.find(end) == std::string::npos) {
      const ssize_t n = ::read(ends_[0], some.data(), some.size());
      if (n <= 0) break;
      all.append(some.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  std::array<int, 2> ends_{};
  int before_;
};

TEST(Log, QuotesWhatALogfmtValueHolds) {
  const Field fields[] = {{"limit", "login"}, {"key", "user=\"a b\"\\"}};
  EXPECT_EQ(format_line(Format::kLogfmt, "refused", fields),
            R"(msg="refused" limit="login" key="user=\"a b\"\\")");
}

TEST(Log, WhatIsEscapedAlreadyIsNotEscapedAgain) {
  const Field fields[] = {{"key", R"(user=\xff\\a"b)", Text::kEscaped}, {"user", R"(\xff)"}};
  EXPECT_EQ(format_line(Format::kLogfmt, R"(ban: \x01)", fields, Text::kEscaped),
            R"(msg="ban: \x01" key="user=\xff\\a\"b" user="\\xff")");
  EXPECT_EQ(format_line(Format::kJson, R"(ban: \x01)", fields, Text::kEscaped),
            R"("msg":"ban: \\x01","key":"user=\\xff\\\\a\"b","user":"\\xff")");
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

TEST(Log, LinesInTheBackgroundKeepTheirOrderAndAreThereAtTheEnd) {
  const Piped standard_error;
  {
    const Background background;
    info("one");
    record("two", {});
    warning("three");
  }
  info("four");
  const std::string all = standard_error.read_until("four");
  EXPECT_LT(all.find("level=info msg=\"one\"\nts="), all.find("msg=\"two\"\nts=")) << all;
  EXPECT_LT(all.find("msg=\"two\"\n"), all.find("level=warning msg=\"three\"\nts=")) << all;
}

TEST(Log, WhoLogsWaitsForNobodyAndWhatWasDroppedIsSaidInItsPlace) {
  const Piped standard_error;
  const Background background;
  const std::uint64_t before = dropped();
  std::uint64_t given = 0;
  const std::string text(2000, 'x');
  while (dropped() == before) {
    ASSERT_LT(++given, 2000u) << "the bound, and what the pipe and a batch hold, is less";
    info(text);
  }
  const std::string all = standard_error.read_until("dropped here: nobody read");
  EXPECT_NE(all.find("level=warning msg=\"1 line was dropped here"), std::string::npos);
  EXPECT_EQ(dropped() - before, 1u);
  std::uint64_t whole = 0;
  for (auto at = all.find(text + "\"\n"); at != std::string::npos;
       at = all.find(text + "\"\n", at + text.size())) {
    ++whole;
  }
  EXPECT_EQ(whole, given - 1);
}

TEST(LogDeathTest, WhatLedToAFatalMistakeIsWrittenBeforeIt) {
  EXPECT_DEATH(
      {
        const Background background;
        for (int i = 0; i < 100; ++i) info("on the way");
        info("the last line before it");
        WEIR_CHECK(1 == 2, "One is not two.");
      },
      "the last line before it\"\nCHECK failed: 1 == 2");
  EXPECT_DEATH(
      {
        const Background background;
        info("the last line before it");
        std::terminate();
      },
      "the last line before it\"\nterminate called");
}

}  // namespace
}  // namespace weir::log
