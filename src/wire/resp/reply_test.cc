#include "wire/resp/reply.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/resp/writer.h"

namespace weir::resp {
namespace {

// A reply as one line of text: [+OK, :1, [$a]].
std::string show(const Reply& reply) {
  static constexpr std::string_view kMarks = "+-:$_#,(*~%>";
  const char mark = kMarks[static_cast<std::size_t>(reply.type())];
  if (!reply.is_list()) return mark + std::string(reply.text());
  std::string text(1, mark);
  text += '[';
  for (Reply value = reply.first(); value.valid(); value = value.next()) {
    if (text.size() > 2) text += ' ';
    text += show(value);
  }
  return text + ']';
}

std::string read(std::string_view stream, std::size_t step, ReplyLimits limits) {
  ReplyParser parser(limits);
  std::string out;
  std::size_t begin = 0;
  std::size_t seen = 0;
  while (seen < stream.size()) {
    seen = std::min(stream.size(), seen + step);
    while (begin < seen) {
      const Progress progress = parser.parse(stream.substr(begin, seen - begin));
      if (progress == Progress::kError) return out + "error: " + std::string(parser.error());
      if (progress == Progress::kNeedMore) break;
      out += show(parser.reply()) + '\n';
      begin += parser.consumed();
    }
  }
  if (begin < stream.size()) out += "...";
  return out;
}

std::string read_both_ways(std::string_view stream, ReplyLimits limits = {}) {
  const std::string whole = read(stream, stream.size() + 1, limits);
  EXPECT_EQ(whole, read(stream, 1, limits)) << stream;
  EXPECT_EQ(whole, read(stream, 3, limits)) << stream;
  return whole;
}

TEST(ReplyParser, ReadsEveryKindOfValue) {
  EXPECT_EQ(read_both_ways("+OK\r\n-ERR no\r\n:-12\r\n$2\r\n\r\n\r\n$-1\r\n*-1\r\n_\r\n"),
            "+OK\n-ERR no\n:-12\n$\r\n\n_\n_\n_\n");
  EXPECT_EQ(
      read_both_ways("#t\r\n,3.5\r\n(123456789012345678901\r\n!5\r\nERR x\r\n=7\r\ntxt:abc\r\n"),
      "#t\n,3.5\n(123456789012345678901\n-ERR x\n$abc\n");
}

TEST(ReplyParser, ReadsNestedListsInOrder) {
  EXPECT_EQ(
      read_both_ways("*3\r\n:1\r\n*2\r\n*0\r\n$1\r\na\r\n+z\r\n~1\r\n:5\r\n>2\r\n+p\r\n+q\r\n"),
      "*[:1 *[*[] $a] +z]\n~[:5]\n>[+p +q]\n");
  EXPECT_EQ(read_both_ways("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n"), "%[+a :1 +b *[:2]]\n");
}

TEST(ReplyParser, ReadsOverAttributes) {
  EXPECT_EQ(read_both_ways("|1\r\n+ttl\r\n*1\r\n:5\r\n*2\r\n|1\r\n+k\r\n+v\r\n:1\r\n:2\r\n"),
            "*[:1 :2]\n");
}

TEST(ReplyParser, FindsValuesInMapsAndInArraysOfPairs) {
  for (std::string_view stream : {"%2\r\n+server\r\n+redis\r\n$5\r\nproto\r\n:3\r\n",
                                  "*4\r\n+server\r\n+redis\r\n$5\r\nproto\r\n:3\r\n"}) {
    ReplyParser parser;
    ASSERT_EQ(parser.parse(stream), Progress::kComplete);
    EXPECT_EQ(parser.reply().find("proto").as_integer(), 3);
    EXPECT_EQ(parser.reply().find("server").text(), "redis");
    EXPECT_FALSE(parser.reply().find("redis").valid());
    EXPECT_EQ(parser.reply().at(2).text(), "proto");
    EXPECT_FALSE(parser.reply().at(4).valid());
  }
}

TEST(ReplyParser, RefusesMalformedReplies) {
  for (std::string_view stream : {"x\r\n",
                                  "\r\n",
                                  "HTTP/1.1 400 Bad Request\r\n",
                                  "+OK\n",
                                  ":\r\n",
                                  ":1x\r\n",
                                  ":+1\r\n",
                                  ":99999999999999999999\r\n",
                                  "$-2\r\n",
                                  "$x\r\n",
                                  "$?\r\n",
                                  "$99999999999\r\n",
                                  "$1\r\nab\r\n",
                                  "*-2\r\n",
                                  "*99999999999\r\n",
                                  "#x\r\n",
                                  "_x\r\n",
                                  ",\r\n",
                                  "=3\r\nabc\r\n",
                                  "%-1\r\n",
                                  "|x\r\n"}) {
    EXPECT_TRUE(read_both_ways(stream).starts_with("error: ")) << stream;
  }
}

TEST(ReplyParser, RefusesWhatNestsDeeperThanSixteen) {
  std::string stream;
  for (std::size_t i = 0; i < ReplyParser::kMaxDepth; ++i) stream += "*1\r\n";
  EXPECT_TRUE(read_both_ways(stream + ":1\r\n").ends_with("]\n"));
  EXPECT_EQ(read_both_ways(stream + "*1\r\n"), "error: nested too deep");
}

TEST(ReplyParser, KeepsItsBounds) {
  const ReplyLimits limits{.max_nodes = 3, .max_bytes = 40, .max_line = 10};
  EXPECT_EQ(read_both_ways("*2\r\n:1\r\n:2\r\n", limits), "*[:1 :2]\n");
  EXPECT_EQ(read_both_ways("*3\r\n:1\r\n:2\r\n:3\r\n", limits), "error: too many elements");
  EXPECT_EQ(read_both_ways("+12345678901\r\n", limits), "error: a line is too long");
  EXPECT_EQ(read_both_ways("$41\r\n", limits), "error: invalid bulk length");
  EXPECT_EQ(read_both_ways("$36\r\n", limits), "error: invalid bulk length");
}

TEST(ReplyParser, GoesOnAfterAReset) {
  ReplyParser parser;
  EXPECT_EQ(parser.parse("*2\r\n:1\r\n"), Progress::kNeedMore);
  parser.reset();
  EXPECT_EQ(parser.parse(":7\r\n"), Progress::kComplete);
  EXPECT_EQ(parser.reply().integer(), 7);
}

TEST(Writer, WritesWhatTheParsersRead) {
  std::string out;
  append_array_header(out, 5);
  append_simple(out, "OK");
  append_error(out, "ERR two\r\nlines");
  append_integer(out, -9'223'372'036'854'775'807LL - 1);
  append_bulk(out, "a\r\nb");
  append_null(out, Version::kResp3);
  append_map_header(out, 1, Version::kResp3);
  append_null(out, Version::kResp2);
  append_bulk(out, "");
  append_map_header(out, 1, Version::kResp2);
  append_integer(out, 1);
  append_integer(out, 2);
  EXPECT_EQ(read_both_ways(out),
            "*[+OK -ERR two  lines :-9223372036854775808 $a\r\nb _]\n%[_ $]\n*[:1 :2]\n");
}

TEST(Writer, WritesAnArrayOfIntegersOfAnyLength) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 20; ++i) {
    std::string expected = "*[";
    for (std::int64_t value : values) {
      expected += (expected.size() > 2 ? " :" : ":") + std::to_string(value);
    }
    std::string out;
    append_integers(out, values);
    EXPECT_EQ(read_both_ways(out), expected + "]\n");
    values.push_back(i * i * i - 5);
  }
}

}  // namespace
}  // namespace weir::resp
