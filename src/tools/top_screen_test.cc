#include "tools/top_screen.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"

namespace weir::tools {
namespace {

constexpr const char* kStats = R"({"version":"0.1.0","ready":true,"reasons":[],
  "policy":{"file":"weir.yaml","generation":2},
  "rates":{"allowed":1234,"denied":56},"waits":{"p50":3.1,"p99":600},
  "store":{"kind":"memory","up":true,"keys":1200,"max_keys":1000000,"evictions":0},
  "limits":[
    {"name":"login","rate":12,"denied_rate":6,"refused":0.5,"fullness":0.04,"wait_p99":9.8,
     "minutes":[[0,0],[0,0],[0,0],[0,0],[0,0],[10,10]]},
    {"name":"per_ip","rate":1200,"denied_rate":0,"refused":0,"fullness":0.9,"wait_p99":0,
     "shadow":true,"minutes":[[5,0]]},
    {"name":"quiet","rate":0,"denied_rate":0,"refused":0,"wait_p99":0,"minutes":[]}],
  "keys":[{"key":"ip=203.0.113.9","limit":"login","recent":360,"denied":4000}]})";

boost::json::value stats() {
  return *parse_json(kStats);
}

std::size_t width(std::string_view line) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++characters) {
    i += std::max<std::size_t>(utf8_length(line.substr(i)), 1);
  }
  return characters;
}

// The names in the table, from above.
std::string order(const TopOptions& options) {
  std::string names;
  for (const std::string& line : top_screen(stats(), options)) {
    for (const char* name : {"login", "per_ip", "quiet"}) {
      if (line.starts_with(name)) names += std::string(names.empty() ? "" : " ") + name;
    }
  }
  return names;
}

TEST(TopScreen, FillsATerminalOf80By24AndNoMore) {
  for (const TopView view : {TopView::kLimits, TopView::kKeys}) {
    TopOptions options;
    options.view = view;
    options.where = "127.0.0.1:9090";
    const auto lines = top_screen(stats(), options);
    EXPECT_EQ(lines.size(), 24u);
    for (const std::string& line : lines) EXPECT_LE(width(line), 80u) << line;
  }
}

TEST(TopScreen, TellsWhatAPersonWantsToKnow) {
  TopOptions options;
  options.where = "127.0.0.1:9090";
  const auto lines = top_screen(stats(), options);
  EXPECT_EQ(lines[0],
            "weir 0.1.0  127.0.0.1:9090  ready                                weir.yaml gen 2");
  EXPECT_EQ(lines[1], "allowed 1.2k/s  refused 56/s (4.3%)  wait P50 3.1s P99 10m");
  EXPECT_EQ(lines[2], "store memory: 1.2k of 1.0M keys, 0 evicted");
  EXPECT_EQ(lines[4],
            "LIMIT                            RATE/S  REFUSED     LEFT WAIT P99  LAST HOUR");
  EXPECT_EQ(lines[5],
            "per_ip (shadow)                    1.2k       0%      90%        -             █");
  EXPECT_EQ(lines[6],
            "login                                12      50%     4.0%     9.8s             █");
}

TEST(TopScreen, CutsTheNameOfTheFileAndNotTheState) {
  const auto long_name = parse_json(
      R"({"ready":false,"policy":{"file":"/srv/a/folder/with/a/rather/long/name/weir.yaml","generation":2}})");
  const auto lines = top_screen(*long_name, {.where = "127.0.0.1:9090", .trouble = "gone"});
  EXPECT_EQ(width(lines[0]), 80u);
  EXPECT_NE(lines[0].find("NOT CONNECTED"), std::string::npos);
  EXPECT_TRUE(lines[0].ends_with("/weir.yaml gen 2")) << lines[0];
}

TEST(TopScreen, SortsAndFilters) {
  EXPECT_EQ(order({}), "per_ip login quiet");
  EXPECT_EQ(order({.sort = TopSort::kRefused}), "login per_ip quiet");
  EXPECT_EQ(order({.sort = TopSort::kLeft}), "login per_ip quiet");
  EXPECT_EQ(order({.sort = TopSort::kName}), "login per_ip quiet");
  EXPECT_EQ(order({.sort = TopSort::kName, .reversed = true}), "quiet per_ip login");
  EXPECT_EQ(order({.filter = "LOG"}), "login");
  EXPECT_EQ(order({.filter = "nothing"}), "");
}

TEST(TopScreen, ScrollsAsFarAsThereIsMore) {
  EXPECT_EQ(order({.rows = 8}), "per_ip login");
  EXPECT_EQ(order({.rows = 8, .scroll = 1}), "login quiet");
  EXPECT_EQ(order({.rows = 8, .scroll = 100}), "login quiet");
}

TEST(TopScreen, ShowsAllAndNoKeysToPressWhereNobodyCanPressThem) {
  const auto lines = top_screen(stats(), {.rows = 0});
  EXPECT_EQ(lines.size(), 8u);
  EXPECT_TRUE(lines.back().starts_with("quiet"));
}

TEST(TopScreen, SaysThatItHasLostTheServer) {
  const auto lines = top_screen(stats(), {.trouble = "no answer from 127.0.0.1:9090"});
  EXPECT_NE(lines[0].find("NOT CONNECTED"), std::string::npos);
  EXPECT_EQ(lines[3], "! no answer from 127.0.0.1:9090");
  EXPECT_EQ(top_screen(boost::json::value(), {.trouble = "x"}).size(), 24u);
}

// What a client sent as its key ends up on an operator's terminal.
TEST(TopScreen, LetsNoKeySteerTheTerminal) {
  const auto hostile = parse_json(
      R"({"keys":[{"key":"\u001b[2J\u0007evil","limit":"a\nb","recent":1,"denied":1}],
          "limits":[{"name":"\u001b]0;x\u009b2J\u202e"}]})");
  for (const TopView view : {TopView::kLimits, TopView::kKeys}) {
    for (const std::string& line : top_screen(*hostile, {.view = view})) {
      for (const char c : line) EXPECT_TRUE(c < 0 || (c >= 0x20 && c != 0x7f)) << line;
      EXPECT_EQ(line.find("\u009b"), std::string::npos) << line;
      EXPECT_EQ(line.find("\u202e"), std::string::npos) << line;
    }
  }
}

TEST(TopScreen, SurvivesAnAnswerOfAnyShapeAndATerminalOfAnySize) {
  for (const char* text : {"[]", "{}", "3", R"({"limits":3,"keys":[4],"reasons":[5]})",
                           R"({"limits":[{"name":7,"minutes":[3,[null]]}]})"}) {
    for (const std::size_t rows : {0u, 1u, 2u, 5u, 24u}) {
      for (const std::size_t columns : {1u, 10u, 300u}) {
        for (const std::string& line :
             top_screen(*parse_json(text), {.columns = columns, .rows = rows})) {
          EXPECT_LE(width(line), columns);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::tools
