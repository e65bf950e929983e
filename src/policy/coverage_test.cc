// One match that takes all that another would: told only where it is so.

#include "policy/coverage.h"

#include <gtest/gtest.h>

#include "policy/load.h"
#include "policy/path.h"

namespace weir::policy {
namespace {

Match match_of(const std::string& text) {
  const Loaded loaded = load_text("p.yaml", "limits: []\nexempt: [" + text + "]\n", Format::kYaml);
  EXPECT_TRUE(loaded.policy) << text;
  return prepare(loaded.policy->exempt.front(), loaded.policy->paths);
}

TEST(Coverage, IsToldByTheText) {
  struct Row {
    const char* wide;
    const char* narrow;
    bool covers;
  };
  const Row rows[] = {
      {"{path: /a}", "{path: /a}", true},
      {"{path: /a}", "{path: /b}", false},
      {"{path: /a}", "{path: /a, method: GET}", true},
      {"{path: /a, method: GET}", "{path: /a}", false},
      {"{path: /a}", "{method: GET}", false},
      {"{path: [/a, /b]}", "{path: /b}", true},
      {"{path: /b}", "{path: [/a, /b]}", false},
      {"{path: /a/**}", "{path: /a}", true},
      {"{path: /a/**}", "{path: [/a/b/c, /a/*, /a/b/**]}", true},
      {"{path: /a/*}", "{path: /a/**}", false},
      {"{path: /*/x}", "{path: /a*/x}", true},
      {"{path: /a*/x}", "{path: /*/x}", false},
      {"{path: ~/a.*}", "{path: /ab}", true},
      {"{path: ~/a.*}", "{path: ~/a.*}", true},
      {"{path: ~/a.*}", "{path: ~/ab.*}", false},
      {"{path: /**}", "{path: \"~[*]\"}", false},
      {"{host: A.example}", "{host: a.EXAMPLE.}", true},
      {"{host: '*.example'}", "{host: ['*.a.example', b.example]}", true},
      {"{host: '*.a.example'}", "{host: '*.example'}", false},
      {"{host: '*'}", "{host: ~a|b}", true},
      {"{ip: 10.0.0.0/8}", "{ip: 10.0.0.0/8}", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(covers(match_of(row.wide), match_of(row.narrow)), row.covers)
        << row.wide << " and " << row.narrow;
  }
}

// All paths of up to three segments, against all patterns of up to three.
TEST(Coverage, NoPathLeadsToTheCoveredPatternAlone) {
  std::vector<std::string> patterns{""};
  std::vector<std::string> paths{""};
  const auto extend = [](std::vector<std::string>& all, std::initializer_list<const char*> by) {
    for (std::size_t begin = 0, round = 0; round < 3; ++round) {
      const std::size_t end = all.size();
      for (; begin < end; ++begin) {
        if (all[begin].ends_with("**")) continue;
        for (const char* segment : by) all.push_back(all[begin] + '/' + segment);
      }
    }
    all.erase(all.begin());
  };
  extend(patterns, {"a", "*", "a*", "*b", "**"});
  extend(paths, {"a", "b", "ab", "ba"});
  std::vector<Match> matches;
  for (const std::string& text : patterns) {
    Pattern pattern;
    ASSERT_TRUE(pattern.add_path(text)) << text;
    matches.push_back({{{Attribute{Attribute::Kind::kPath, {}}, pattern}}});
  }
  std::size_t found = 0;
  for (const Match& wide : matches) {
    for (const Match& narrow : matches) {
      if (!covers(wide, narrow)) continue;
      ++found;
      for (const std::string& path : paths) {
        const bool alone =
            narrow.conditions[0].pattern.matches(path) && !wide.conditions[0].pattern.matches(path);
        ASSERT_FALSE(alone) << path << " and "
                            << narrow.conditions[0].pattern.alternatives()[0].text << " under "
                            << wide.conditions[0].pattern.alternatives()[0].text;
      }
    }
  }
  EXPECT_GT(found, 2 * matches.size()) << "more than each by itself";
}

}  // namespace
}  // namespace weir::policy
