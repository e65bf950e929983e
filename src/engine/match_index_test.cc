// The index against asking every entry: it may offer more than what matches, never less.

#include "engine/match_index.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/test_request.h"

namespace weir::engine {
namespace {

std::vector<EntryId> candidates(const std::vector<policy::Match>& entries,
                                const TestRequest& request) {
  const policy::Paths paths;
  MatchIndex index;
  for (const policy::Match& entry : entries) index.add(Matcher(entry, paths));
  RequestView view(request, paths);
  std::vector<EntryId> found;
  index.find(view, found);
  return found;
}

using Ids = std::vector<EntryId>;

TEST(MatchIndex, OffersInFileOrderAndEachOnce) {
  const std::vector<policy::Match> entries = {
      match({}),
      match({{"path", {"/a", "/a/**", "/*"}}}),
      match({{"path", {"/b"}}}),
      match({{"path", {"~/a"}}}),
      match({{"method", {"GET"}}, {"user", {"u"}}}),
      match({{"ip", {"10.0.0.0/8"}}}),
      match({{"host", {"a.test", "b.test"}}}),
      match({{"method", {"GET"}}}),
  };
  EXPECT_EQ(candidates(entries, {}), (Ids{0, 3, 5}));
  EXPECT_EQ(candidates(entries, {{"path", "/a"}}), (Ids{0, 1, 3, 5}));
  EXPECT_EQ(candidates(entries, {{"path", "/b"}, {"host", "b.test"}}), (Ids{0, 1, 2, 3, 5, 6}));
  EXPECT_EQ(candidates(entries, {{"method", "HEAD"}, {"user", "u"}}), (Ids{0, 3, 4, 5, 7}));
  EXPECT_EQ(candidates(entries, {{"path", "/x%2Fy"}}), (Ids{0, 1, 3, 5}));
  EXPECT_EQ(candidates(entries, {{"path", "/x%2F..%2Fb"}}), (Ids{0, 1, 2, 3, 5}));
}

std::string pick(std::mt19937& random, std::initializer_list<const char*> words) {
  return words.begin()[random() % words.size()];
}

policy::Match random_match(std::mt19937& random) {
  std::vector<Wanted> wanted;
  if (random() % 3 != 0) {
    std::vector<std::string> alternatives;
    for (std::size_t n = 1 + random() % 2; n > 0; --n) {
      std::string path;
      for (std::size_t depth = random() % 4; depth > 0; --depth) {
        path += '/' + pick(random, {"a", "b", "*", "a*", "*b", "c%2Fd"});
      }
      path += pick(random, {"", "/**", "/a", "/"});
      alternatives.push_back(path.empty() ? "~/a/.*" : path);
    }
    wanted.push_back({"path", alternatives});
  }
  if (random() % 2) wanted.push_back({"method", {pick(random, {"GET", "POST", "HEAD", "G*"})}});
  if (random() % 3 == 0) wanted.push_back({"host", {pick(random, {"a.test", "B.test", "*.test"})}});
  if (random() % 4 == 0) wanted.push_back({"ip", {pick(random, {"10.0.0.0/8", "::/0"})}});
  return match(wanted);
}

TestRequest random_request(std::mt19937& random) {
  std::map<std::string, std::string> values;
  std::string path;
  for (std::size_t depth = random() % 5; depth > 0; --depth) {
    path += '/' + pick(random, {"a", "b", "ab", "c", "c%2Fd", "a%2Fb", "x%2F..%2F..%2Fa"});
  }
  if (random() % 8 != 0) values["path"] = path.empty() ? "/" : path;
  if (random() % 8 != 0) values["method"] = pick(random, {"GET", "POST", "HEAD"});
  if (random() % 4 != 0) values["host"] = pick(random, {"a.test", "b.test", "c.test"});
  if (random() % 4 != 0) values["ip"] = pick(random, {"10.1.2.3", "203.0.113.5", "2001:db8::1"});
  return TestRequest(values);
}

TEST(MatchIndex, NeverMissesAnEntryThatMatches) {
  constexpr std::uint32_t kSeed = 20260108;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const policy::Paths paths;
  std::size_t matched = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<Matcher> entries;
    MatchIndex index;
    for (int i = 0; i < 40; ++i) index.add(entries.emplace_back(random_match(random), paths));
    for (int i = 0; i < 100; ++i) {
      const TestRequest request = random_request(random);
      RequestView view(request, paths);
      Ids found;
      index.find(view, found);
      ASSERT_TRUE(std::is_sorted(found.begin(), found.end()));
      for (EntryId id = 0; id < entries.size(); ++id) {
        if (!entries[id].matches(view, Readings::kAny)) continue;
        ++matched;
        ASSERT_TRUE(std::binary_search(found.begin(), found.end(), id))
            << "entry " << id << " path " << view.path().value_or("-");
      }
    }
  }
  EXPECT_GT(matched, 10000u) << "the generator must make matches";
}

}  // namespace
}  // namespace weir::engine
