// Headers, cookies, query strings, writers and scans.

#include "wire/http1/headers.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/http1/cookies.h"
#include "wire/http1/query.h"
#include "wire/http1/request.h"
#include "wire/http1/scan.h"
#include "wire/http1/writer.h"
#include "wire/test_random.h"

namespace weir::http1 {
namespace {

using wire_test::Random;

class HeadersOf {
 public:
  explicit HeadersOf(std::string_view fields)
      : text_("GET / HTTP/1.0\r\n" + std::string(fields) + "\r\n") {
    EXPECT_EQ(parser_.parse(text_), Progress::kComplete) << text_;
  }
  const Headers* operator->() const { return &parser_.head().headers; }
  const Headers& operator*() const { return parser_.head().headers; }

 private:
  std::string text_;
  RequestParser parser_;
};

TEST(Headers, FindsNamesWithoutCaseAndCountsRepeats) {
  const HeadersOf headers("X-Api-Key: one\r\nhost: h\r\nx-api-KEY: two\r\n");
  EXPECT_EQ(headers->find("x-API-key").value, "one");
  EXPECT_EQ(headers->find("x-API-key").count, 2u);
  EXPECT_TRUE(headers->find("x-api-key").repeated());
  EXPECT_EQ(headers->find(HeaderId::kHost).value, "h");
  EXPECT_FALSE(headers->find(HeaderId::kHost).repeated());
  EXPECT_FALSE(headers->find("x-api"));
  EXPECT_FALSE(headers->find(HeaderId::kCookie));
}

TEST(Headers, TellsAnEmptyValueFromAMissingOne) {
  const HeadersOf headers("X:\r\n");
  EXPECT_TRUE(headers->find("X"));
  EXPECT_EQ(headers->find("X").value, "");
}

TEST(Headers, WalksListsOverAllTheirLines) {
  const HeadersOf headers("Connection: a, , B\r\nConnection:\tc-d ,\r\n");
  for (const std::string_view token : {"A", "b", "C-D"}) {
    EXPECT_TRUE(headers->lists(HeaderId::kConnection, token)) << token;
  }
  EXPECT_FALSE(headers->lists(HeaderId::kConnection, "c"));
  EXPECT_FALSE(headers->lists(HeaderId::kUpgrade, "a"));
  EXPECT_EQ(headers->find(HeaderId::kConnection).count, 2u);
}

TEST(Headers, KnowsItsNamesInAnyCase) {
  const struct {
    std::string_view name;
    HeaderId id;
    bool hop_by_hop;
  } cases[] = {
      {"Connection", HeaderId::kConnection, true},
      {"Content-Length", HeaderId::kContentLength, false},
      {"Content-Type", HeaderId::kContentType, false},
      {"Cookie", HeaderId::kCookie, false},
      {"Date", HeaderId::kDate, false},
      {"Expect", HeaderId::kExpect, false},
      {"Host", HeaderId::kHost, false},
      {"Keep-Alive", HeaderId::kKeepAlive, true},
      {"Proxy-Authenticate", HeaderId::kProxyAuthenticate, true},
      {"Proxy-Authorization", HeaderId::kProxyAuthorization, true},
      {"Proxy-Connection", HeaderId::kProxyConnection, true},
      {"TE", HeaderId::kTe, true},
      {"Trailer", HeaderId::kTrailer, true},
      {"Transfer-Encoding", HeaderId::kTransferEncoding, true},
      {"Upgrade", HeaderId::kUpgrade, true},
      {"Via", HeaderId::kVia, false},
      {"X-Other", HeaderId::kOther, false},
  };
  for (const auto& c : cases) {
    std::string upper(c.name);
    for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));
    for (const std::string& name : {std::string(c.name), upper}) {
      EXPECT_TRUE(c.id == HeaderId::kOther || may_be_known(name.size())) << name;
      EXPECT_EQ(identify(name), c.id) << name;
    }
    EXPECT_EQ(is_hop_by_hop(c.id), c.hop_by_hop) << c.name;
    EXPECT_EQ(identify(std::string(c.name) + "x"), HeaderId::kOther);
    EXPECT_EQ(identify("x" + std::string(c.name.substr(1))), HeaderId::kOther) << c.name;
  }
}

TEST(Cookies, FindsAPairInAnyFieldAndCountsRepeats) {
  const HeadersOf headers("Cookie: a=1; sid=\"x y\" ;b\r\nCookie: A=2;a=3=4; =5;\r\n");
  EXPECT_EQ(find_cookie(*headers, "a").value, "1");
  EXPECT_EQ(find_cookie(*headers, "a").count, 2u);
  EXPECT_EQ(find_cookie(*headers, "sid").value, "\"x y\"");
  EXPECT_EQ(find_cookie(*headers, "A").value, "2");
  EXPECT_FALSE(find_cookie(*headers, "b"));
  EXPECT_FALSE(find_cookie(*headers, ""));
  EXPECT_FALSE(find_cookie(*HeadersOf("X: a=1\r\n"), "a"));
}

TEST(Query, DecodesNamesAndValuesAndCountsRepeats) {
  std::string scratch;
  const std::string_view query = "a=1&%75ser=x%20y+z&user=2&flag&&e=&user";
  EXPECT_EQ(find_query(query, "user", scratch).value, "x y z");
  EXPECT_EQ(find_query(query, "user", scratch).count, 3u);
  EXPECT_EQ(find_query(query, "a", scratch).value.data(), query.data() + 2);  // not copied
  EXPECT_TRUE(find_query(query, "flag", scratch));
  EXPECT_EQ(find_query(query, "e", scratch).count, 1u);
  EXPECT_FALSE(find_query(query, "A", scratch));
  EXPECT_FALSE(find_query("", "a", scratch));
}

TEST(Query, LeavesWrongEscapesAsTheyStand) {
  std::string scratch;
  EXPECT_EQ(find_query("a=%zz%4", "a", scratch).value, "%zz%4");
  EXPECT_EQ(find_query("a=%", "a", scratch).value, "%");
  EXPECT_EQ(find_query("a=%00%ff", "a", scratch).value, std::string_view("\0\xff", 2));
  EXPECT_FALSE(find_query("a%00=1", "a", scratch));
}

TEST(Writer, RefusesWhatWouldEndAHeaderEarly) {
  std::string out;
  EXPECT_FALSE(append_header(out, "X", "a\r\nY: b"));
  EXPECT_FALSE(append_header(out, "X", "a\nb"));
  EXPECT_FALSE(append_header(out, "X", std::string_view("a\0b", 3)));
  EXPECT_FALSE(append_header(out, "X\r\n", "a"));
  EXPECT_FALSE(append_header(out, "X: Y", "a"));
  EXPECT_FALSE(append_header(out, "", "a"));
  EXPECT_FALSE(append_request_line(out, "GET", "/a HTTP/1.1\r\nX:"));
  EXPECT_FALSE(append_request_line(out, "GET", "/a b"));
  EXPECT_FALSE(append_request_line(out, "GET", ""));
  EXPECT_FALSE(append_request_line(out, "G T", "/"));
  EXPECT_EQ(out, "");
}

TEST(Writer, WritesHeadsThatAreReadAsTheyWereMeant) {
  std::string out;
  append_status_line(out, 429);
  ASSERT_TRUE(append_header(out, "X-Text", "\xc3\xa4 b\tc"));
  append_number_header(out, "Retry-After", 18446744073709551615u);
  append_end_of_headers(out);
  EXPECT_EQ(out,
            "HTTP/1.1 429 Too Many Requests\r\nX-Text: \xc3\xa4 b\tc\r\n"
            "Retry-After: 18446744073709551615\r\n\r\n");
  std::string line;
  ASSERT_TRUE(append_request_line(line, "GET", "/a?b"));
  EXPECT_EQ(line, "GET /a?b HTTP/1.1\r\n");
}

TEST(Writer, ReplacesAReasonThatMayNotBeWritten) {
  std::string out;
  append_status_line(out, 200, "Fine");
  append_status_line(out, 420, "a\r\nb");
  append_status_line(out, 799);
  EXPECT_EQ(out, "HTTP/1.1 200 Fine\r\nHTTP/1.1 420 Client Error\r\nHTTP/1.1 799 Server Error\r\n");
}

template <typename Part>
void expect_scans_like_a_byte_at_a_time(Random& random, const std::string& text) {
  const char* const begin = text.data() + random.below(text.size() + 1);
  const char* const end = text.data() + text.size();
  const char* expected = begin;
  while (expected != end && Part::belongs(*expected)) ++expected;
  EXPECT_EQ(scan::skip<Part>(begin, end), expected);
  const char* at = begin;
  if (!scan::skip_blocks<Part, scan::Word>(at, end)) {
    EXPECT_LT(end - at, scan::Word::kBytes);
    while (at != end && Part::belongs(*at)) ++at;
  }
  EXPECT_EQ(at, expected);
}

TEST(Scan, StopsWhereAByteAtATimeWouldStop) {
  Random random;
  SCOPED_TRACE(wire_test::replay_hint());
  for (int round = 0; round < 20000; ++round) {
    std::string text(random.below(60), 'a');
    for (char& c : text) {
      if (random.one_in(3)) c = static_cast<char>('!' + random.below(94));
    }
    for (std::size_t i = random.below(3); i > 0 && !text.empty(); --i) {
      text[random.below(text.size())] = random.byte();
    }
    expect_scans_like_a_byte_at_a_time<scan::FieldValue>(random, text);
    expect_scans_like_a_byte_at_a_time<scan::Target>(random, text);
    expect_scans_like_a_byte_at_a_time<scan::Path>(random, text);
    expect_scans_like_a_byte_at_a_time<scan::Token>(random, text);
  }
}

TEST(Scan, FindsEveryByteInEveryPlaceOfABlock) {
  for (int c = 0; c < 256; ++c) {
    for (std::size_t place = 0; place < 32; ++place) {
      std::string text(32, 'a');
      text[place] = static_cast<char>(c);
      const char* const end = text.data() + text.size();
      const auto stops = [&](const char* at) { return at == text.data() + place; };
      EXPECT_EQ(stops(skip_field_value(text.data(), end)), !is(text[place], kFieldChar)) << c;
      EXPECT_EQ(stops(skip_target(text.data(), end)), !is(text[place], kTargetChar)) << c;
      EXPECT_EQ(stops(skip_token(text.data(), end)), !is(text[place], kTokenChar)) << c;
    }
  }
}

}  // namespace
}  // namespace weir::http1
