#include "wire/resp/command.h"

#include <gtest/gtest.h>

#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

using Words = std::vector<std::string>;

// What a stream of bytes is read as: the commands, then the error if there was one. `step` bytes
// arrive at a time.
struct Reading {
  std::vector<Words> commands;
  std::string error;
  std::size_t left = 0;  // bytes of a command that is not complete
  friend bool operator==(const Reading&, const Reading&) = default;
};

Reading read(std::string_view stream, std::size_t step, CommandLimits limits = {}) {
  Reading reading;
  CommandParser parser(limits);
  std::size_t begin = 0;
  std::size_t seen = 0;
  while (seen < stream.size()) {
    seen = std::min(stream.size(), seen + step);
    Progress progress = Progress::kComplete;
    while (progress == Progress::kComplete && begin < seen) {
      progress = parser.parse(stream.substr(begin, seen - begin));
      if (progress != Progress::kComplete) break;
      reading.commands.emplace_back(parser.arguments().begin(), parser.arguments().end());
      begin += parser.consumed();
    }
    if (progress == Progress::kError) {
      reading.error = parser.error();
      return reading;
    }
  }
  reading.left = stream.size() - begin;
  return reading;
}

// Whole, and byte by byte, must come to the same.
Reading read_both_ways(std::string_view stream, CommandLimits limits = {}) {
  Reading whole = read(stream, stream.size() + 1, limits);
  EXPECT_EQ(whole, read(stream, 1, limits)) << stream;
  EXPECT_EQ(whole, read(stream, 3, limits)) << stream;
  return whole;
}

TEST(CommandParser, CutsPipelinedCommandsApart) {
  const Reading reading = read_both_ways("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n");
  EXPECT_EQ(reading.commands, (std::vector<Words>{{"PING"}, {"ECHO", "hi"}}));
  EXPECT_EQ(reading.left, 0u);
}

TEST(CommandParser, TakesArgumentsAsBytes) {
  const std::string key("a\0b\r\nc\xff", 7);
  std::string stream;
  append_command(stream, {"GET", key, ""});
  EXPECT_EQ(read_both_ways(stream).commands, (std::vector<Words>{{"GET", key, ""}}));
}

TEST(CommandParser, GivesEmptyCommandsToBeIgnored) {
  const Reading reading = read_both_ways("*0\r\n*-1\r\n\r\n\nPING\r\n");
  EXPECT_EQ(reading.commands, (std::vector<Words>{{}, {}, {}, {}, {"PING"}}));
}

TEST(CommandParser, SplitsWhatAPersonTypes) {
  EXPECT_EQ(read_both_ways("SET  a\t\"b \\\"c\\x00\\n\" 'd\\'e'\r\n").commands,
            (std::vector<Words>{{"SET", "a", std::string("b \"c\0\n", 6), "d'e"}}));
  EXPECT_EQ(read_both_ways("PING\n").commands, (std::vector<Words>{{"PING"}}));
}

TEST(CommandParser, WaitsForTheRestOfACommand) {
  EXPECT_EQ(read_both_ways("*2\r\n$4\r\nECHO\r\n$5\r\nhel").left, 21u);
  EXPECT_EQ(read_both_ways("PIN").left, 3u);
}

TEST(CommandParser, RefusesMalformedCommands) {
  const struct {
    std::string_view stream;
    std::string_view error;
  } cases[] = {
      {"*-2\r\n", "invalid multibulk length"},
      {"*-999999999\r\n", "invalid multibulk length"},
      {"*1000000000\r\n", "invalid multibulk length"},
      {"*x\r\n", "expected a number and CR LF"},
      {"*1\n", "expected a number and CR LF"},
      {"*1\rx", "expected LF after CR"},
      {"*1\r\n:5\r\n", "expected '$' before an argument"},
      {"*1\r\n*1\r\n", "expected '$' before an argument"},
      {"*2\r\n$4\r\nPING\r\n+x\r\n", "expected '$' before an argument"},
      {"*1\r\n$-5\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$99999999\r\n", "invalid bulk length"},
      {"*1\r\n$999999999999999999999\r\n", "number too long"},
      {"*1\r\n$3\r\nPING\r\n", "bulk is longer than it said"},
      {"*1\r\n$4\r\nPINGxx", "bulk is longer than it said"},
      {"\"abc\r\n", "unbalanced quotes"},
      {"\"a\"b\r\n", "unbalanced quotes"},
      {"PI\x01NG\r\n", "control byte in an inline command"},
      {"\x16\x03\x01", "this is a TLS hello, and the port speaks plain RESP"},
      {"POST / HTTP/1.1\r\n", "this is HTTP, and the port speaks RESP"},
      {"GET / HTTP/1.1\r\n", "this is HTTP, and the port speaks RESP"},
      {"host: localhost\r\n", "this is HTTP, and the port speaks RESP"},
  };
  for (const auto& [stream, error] : cases) {
    const Reading reading = read_both_ways(stream);
    EXPECT_TRUE(reading.commands.empty()) << stream;
    EXPECT_EQ(reading.error, error) << stream;
  }
}

TEST(CommandParser, RefusesALengthBeforeItsBytesCame) {
  const CommandLimits limits{
      .max_arguments = 4, .max_argument_bytes = 10, .max_command_bytes = 32, .max_inline_bytes = 8};
  EXPECT_TRUE(read_both_ways("*4\r\n$1\r\na\r\n", limits).error.empty());
  EXPECT_EQ(read_both_ways("*5\r\n", limits).error, "invalid multibulk length");
  EXPECT_TRUE(read_both_ways("*1\r\n$10\r\n", limits).error.empty());
  EXPECT_EQ(read_both_ways("*1\r\n$11\r\n", limits).error, "invalid bulk length");
  EXPECT_EQ(read_both_ways("*3\r\n$10\r\n0123456789\r\n$9\r\n", limits).error, "command too long");
  EXPECT_EQ(read_both_ways("12345678", limits).left, 8u);
  EXPECT_EQ(read_both_ways("123456789", limits).error, "inline command too long");
}

TEST(CommandParser, StaysWrongOnceItWasWrong) {
  CommandParser parser;
  EXPECT_EQ(parser.parse("*x\r\n"), Progress::kError);
  EXPECT_EQ(parser.parse("*1\r\n$4\r\nPING\r\n"), Progress::kError);
}

TEST(CommandParser, HoldsOnToNothingOfAHundredMegabytesWithoutALineEnd) {
  CommandParser parser;
  const std::string junk(64 << 10, 'x');
  EXPECT_EQ(parser.parse(junk), Progress::kNeedMore);
  EXPECT_EQ(parser.parse(junk + "x"), Progress::kError);
}

}  // namespace
}  // namespace weir::resp
