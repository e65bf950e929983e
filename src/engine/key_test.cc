// Keys: no two tuples of values share one.

#include "engine/key.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/test_request.h"

namespace weir::engine {
namespace {

std::string key_of(const std::vector<std::string>& parts, const TestRequest& request,
                   bool share_missing = false) {
  const policy::Policy policy;
  const KeySpec spec(key(parts), policy);
  RequestView view(request, policy.paths);
  std::string out;
  if (spec.append(view, share_missing, out) == KeySpec::Outcome::kMissing) return "missing";
  return out;
}

TEST(Key, IsWrittenAsTheFormatSays) {
  const TestRequest request = {{"ip", "2001:db8:1:2::9"},
                               {"user", "user-42"},
                               {"method", "HEAD"},
                               {"header.x-id", ""},
                               {"path", "/a"}};
  const struct {
    std::vector<std::string> parts;
    const char* key;
  } table[] = {
      {{}, ""},
      {{"ip"}, "2:ip,14:2001:db8:1:2::,"},
      {{"user|ip"}, "4:user,7:user-42,"},
      {{"tier|ip"}, "2:ip,14:2001:db8:1:2::,"},
      {{"user", "path"}, "4:user,7:user-42,4:path,2:/a,"},
      {{"method"}, "6:method,3:GET,"},
      {{"header.x-id"}, "11:header.x-id,0:,"},
      {{"tier"}, "missing"},
      {{"user", "tier|plan"}, "missing"},
  };
  for (const auto& row : table) EXPECT_EQ(key_of(row.parts, request), row.key);
  EXPECT_EQ(key_of({"user", "tier"}, request, true), "4:user,7:user-42,-");
  EXPECT_EQ(key_of({"tier", "plan"}, request, true), "--");
}

TEST(Key, CraftedValuesDoNotImitateAnotherTuple) {
  const std::vector<std::pair<std::string, std::string>> tuples = {
      {"a/b", "c"},
      {"a", "b/c"},
      {"a:b", "c"},
      {"a", "b:c"},
      {"a|b", "c"},
      {"", "a"},
      {"a", ""},
      {"-", "-"},
      {"1:a,", "b"},
      {"1:a", ",b"},
      {"a,4:path,1:b", "c"},
      {"{tag}", "}:a"},
      {"a\x1f", "b"},
      {"a",
       "\x1f"
       "b"},
      {std::string("a\0", 2), "b"},
      {"a", std::string("\0b", 2)},
      {"a\r\nb", "c"},
      {"\xff\xfe", ""},
      {"a", std::string(1 << 20, 'x')},
      {"a", std::string((1 << 20) + 1, 'x')},
  };
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const TestRequest request = {{"header.a", tuples[i].first}, {"header.b", tuples[i].second}};
    const auto [place, fresh] = seen.emplace(key_of({"header.a", "header.b"}, request), i);
    EXPECT_TRUE(fresh) << "tuples " << place->second << " and " << i;
  }
}

TEST(Key, DistinctTuplesHaveDistinctKeys) {
  constexpr std::uint32_t kSeed = 20260107;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  constexpr char kBytes[] = {'a', '1', ':', ',', '-', '\0'};
  const auto word = [&] {
    std::string out(random() % 4, ' ');
    for (char& c : out) c = kBytes[random() % sizeof kBytes];
    return out;
  };
  using Tuple = std::vector<std::optional<std::string>>;
  std::map<std::string, Tuple> seen;
  for (int i = 0; i < 20000; ++i) {
    Tuple tuple;
    std::map<std::string, std::string> values;
    for (const char* name : {"header.a", "header.b", "header.c"}) {
      tuple.push_back(random() % 4 == 0 ? std::nullopt : std::optional(word()));
      if (tuple.back()) values.emplace(name, *tuple.back());
    }
    const std::string key = key_of({"header.a", "header.b", "header.c"}, TestRequest(values), true);
    const auto [place, fresh] = seen.emplace(key, tuple);
    ASSERT_EQ(place->second, tuple) << key;
  }
}

std::vector<std::string> values_of(const std::vector<std::string>& parts,
                                   const std::vector<std::string>& values) {
  const policy::Policy policy;
  return KeySpec(key(parts), policy).read_values(values);
}

TEST(Key, ReadsAnOverridesValuesAsARequestWouldGiveThem) {
  using Keys = std::vector<std::string>;
  EXPECT_EQ(values_of({"user"}, {"user-42"}), Keys{"4:user,7:user-42,"});
  EXPECT_EQ(values_of({"ip"}, {"2001:DB8:1:2::9"}), Keys{"2:ip,14:2001:db8:1:2::,"});
  EXPECT_EQ(values_of({"ip"}, {"2001:db8:1:2::/64"}), Keys{"2:ip,14:2001:db8:1:2::,"});
  EXPECT_EQ(values_of({"ip"}, {"::ffff:203.0.113.5"}), Keys{"2:ip,11:203.0.113.5,"});
  EXPECT_EQ(values_of({"user|ip"}, {"203.0.113.5"}), Keys{"2:ip,11:203.0.113.5,"});
  EXPECT_EQ(values_of({"user|ip"}, {"u"}), Keys{"4:user,1:u,"});
  EXPECT_EQ(values_of({"user|tier"}, {"u"}), (Keys{"4:user,1:u,", "4:tier,1:u,"}));
  EXPECT_EQ(values_of({"user", "path"}, {"u", "/a//b/"}), Keys{"4:user,1:u,4:path,4:/a/b,"});
  EXPECT_EQ(values_of({"host"}, {"API.Example.test:80"}), Keys{"4:host,16:api.example.test,"});
  EXPECT_EQ(values_of({"ip"}, {"nobody"}), Keys{});
  EXPECT_EQ(values_of({"user"}, {"a", "b"}), Keys{});
  EXPECT_EQ(values_of({}, {}), Keys{""});
}

TEST(Key, IsShownToPeopleWithoutOddBytes) {
  EXPECT_EQ(readable_key(""), "");
  EXPECT_EQ(readable_key("2:ip,11:203.0.113.5,"), "ip=203.0.113.5");
  EXPECT_EQ(readable_key("4:user,3:a\nb,-4:path,2:/a,"), "user=a\\x0ab,-,path=/a");
  EXPECT_EQ(readable_key("4:user,2:a\\,"), "user=a\\\\");
  for (const char* broken : {"4", "4:", "4:ab", "x", "99999999999999999999:a,", ":,"}) {
    EXPECT_EQ(readable_key(broken), "=") << broken;
  }
}

}  // namespace
}  // namespace weir::engine
