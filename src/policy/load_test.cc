#include "policy/load.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

Policy load_yaml(const std::string& text, std::map<std::string, std::string> variables = {}) {
  Loaded loaded = load_text("p.yaml", text, Format::kYaml, with(std::move(variables)));
  EXPECT_TRUE(loaded.policy.has_value()) << all(loaded.mistakes);
  return loaded.policy.value_or(Policy{});
}

std::string mistakes_of(const std::string& text, Format format = Format::kYaml) {
  return all(load_text("p.yaml", text, format, with({})).mistakes);
}

Attribute attribute(Attribute::Kind kind, std::string name = "") {
  return Attribute{kind, std::move(name)};
}

// A limit of every kind that a policy commonly has.
constexpr const char* kExample = R"(
limits:
  - name: global
    algorithm: token_bucket
    rate: 10000/s
    burst: 20000
  - name: per_ip
    key: [ip]
    algorithm: sliding_counter
    limit: 100
    window: 60s
  - name: login
    match: { method: POST, path: /api/auth/login }
    key: [ip]
    algorithm: token_bucket
    rate: 0.1/s
    burst: 5
    on_error: deny
  - name: query
    key: [user|ip]
    algorithm: token_bucket
    rate: 0.2/s
    burst: 10
    tiers:
      premium: { rate: 1/s, burst: 30 }
      internal: unlimited
    overrides:
      - { key: ["user-42"], rate: 5/s, burst: 50 }
exempt:
  - { path: /api/health }
  - { method: POST, path: [/api/auth/refresh, /api/auth/logout] }
gateway: { listen: 0.0.0.0:8080, upstream: http://127.0.0.1:3000 }
api:     { listen: 127.0.0.1:8081 }
admin:   { listen: 127.0.0.1:9090, token: "${WEIR_ADMIN_TOKEN:-}" }
)";

TEST(Load, APrefixOfRedisKeysHasNoBraces) {
  for (const std::string prefix : {"{x}:", "a{", "}"}) {
    EXPECT_EQ(mistakes_of("limits: []\nstore: { prefix: \"" + prefix + "\" }\n"),
              "p.yaml:2:18: prefix has a brace, wants none: braces say where a Cluster keeps a "
              "key\n");
  }
}

TEST(Load, ReadsTheLimitsOfAnExample) {
  const Policy policy = load_yaml(kExample);
  ASSERT_EQ(policy.limits.size(), 4u);

  EXPECT_EQ(policy.limits[0].name, "global");
  EXPECT_EQ(policy.limits[0].numbers, (NumberSet{TokenBucket{{1, 100us}, 20000}}));
  EXPECT_TRUE(policy.limits[0].key.empty());

  EXPECT_EQ(policy.limits[1].numbers, (NumberSet{SlidingCounter{100, 60s, Align::kEpoch}}));
  ASSERT_EQ(policy.limits[1].key.size(), 1u);
  EXPECT_EQ(policy.limits[1].key[0].alternatives,
            std::vector<Attribute>{attribute(Attribute::Kind::kIp)});

  const Limit& login = policy.limits[2];
  EXPECT_EQ(login.on_error, OnError::kDeny);
  EXPECT_EQ(login.numbers, (NumberSet{TokenBucket{{1, 10s}, 5}}));
  ASSERT_TRUE(login.match.has_value());
  ASSERT_EQ(login.match->conditions.size(), 2u);
  EXPECT_EQ(login.match->conditions[0].attribute, attribute(Attribute::Kind::kMethod));
  EXPECT_TRUE(login.match->conditions[1].pattern.matches("/api/auth/login"));

  const Limit& query = policy.limits[3];
  EXPECT_EQ(query.key[0].alternatives.size(), 2u);
  EXPECT_EQ(query.tiers.at("premium"), (NumberSet{TokenBucket{{1, 1s}, 30}}));
  EXPECT_EQ(query.tiers.at("internal"), NumberSet{Unlimited{}});
  ASSERT_EQ(query.overrides.size(), 1u);
  EXPECT_EQ(query.overrides[0].key, std::vector<std::string>{"user-42"});
  EXPECT_EQ(query.overrides[0].numbers, (NumberSet{TokenBucket{{1, 200ms}, 50}}));
}

TEST(Load, ReadsTheListenersOfAnExample) {
  const Policy policy = load_yaml(kExample, {{"WEIR_ADMIN_TOKEN", "s3cret"}});
  ASSERT_TRUE(policy.gateway && policy.api && policy.admin);
  EXPECT_EQ(policy.gateway->listen.to_string(), "0.0.0.0:8080");
  ASSERT_EQ(policy.gateway->upstream.servers.size(), 1u);
  EXPECT_EQ(policy.gateway->upstream.servers[0].address.port, 3000);
  EXPECT_EQ(policy.gateway->upstream.servers[0].authority, "127.0.0.1:3000");
  EXPECT_EQ(policy.api->listen.port, 8081);
  EXPECT_EQ(policy.admin->token, "s3cret");
  EXPECT_EQ(policy.exempt.size(), 2u);
  EXPECT_EQ(load_yaml(kExample).admin->token, "");
}

TEST(Load, GivesTheContractsDefaultsToAFileThatSaysNothing) {
  const Policy policy = load_yaml("limits: []");
  EXPECT_TRUE(policy.enabled);
  EXPECT_EQ(policy.store.timeout, 20ms);
  EXPECT_EQ(policy.identity.client_ip, ClientIpSource::kXForwardedFor);
  EXPECT_EQ(policy.identity.ipv6_prefix, 64);
  EXPECT_EQ(policy.response.status, 429);
  EXPECT_TRUE(policy.paths.merge_slashes);
  EXPECT_FALSE(policy.gateway || policy.api || policy.admin);
}

TEST(Load, TakesTheRatesAmountAsBurstWhereNoneIsGiven) {
  const Policy policy = load_yaml(R"(
limits:
  - { name: a, algorithm: token_bucket, rate: 10/60s }
  - { name: b, algorithm: token_bucket, rate: 0.2/s }
  - { name: c, algorithm: token_bucket, rate: 2.5/s, tiers: { gold: { rate: 7/s } } }
  - { name: d, algorithm: token_bucket, rate: 2/s, burst: 9, tiers: { gold: { rate: 7/s } } }
  - { name: e, algorithm: token_bucket, rate: 0/s }
)");
  EXPECT_EQ(policy.limits[0].numbers, (NumberSet{TokenBucket{{1, 6s}, 10}}));
  EXPECT_EQ(policy.limits[1].numbers, (NumberSet{TokenBucket{{1, 5s}, 1}}));
  EXPECT_EQ(policy.limits[2].numbers, (NumberSet{TokenBucket{{1, 400ms}, 3}}));
  // A burst that nobody wrote is not inherited either: it follows from the tier's own rate.
  EXPECT_EQ(std::get<TokenBucket>(policy.limits[2].tiers.at("gold")[0]).burst, 7u);
  EXPECT_EQ(std::get<TokenBucket>(policy.limits[3].tiers.at("gold")[0]).burst, 9u);
  EXPECT_EQ(policy.limits[4].numbers, (NumberSet{TokenBucket{{0, 1s}, 1}}));
}

TEST(Load, TakesBurstZeroAndLimitZeroAsValues) {
  const Policy policy = load_yaml(R"(
limits:
  - { name: a, algorithm: token_bucket, rate: 10/s, burst: 0 }
  - { name: b, algorithm: sliding_counter, limit: 0, window: 1s }
)");
  EXPECT_EQ(std::get<TokenBucket>(policy.limits[0].numbers[0]).burst, 0u);
  EXPECT_EQ(std::get<SlidingCounter>(policy.limits[1].numbers[0]).limit, 0u);
}

TEST(Load, LoadsARateAboveItsBurstWithoutAWord) {
  const Loaded loaded =
      load_text("p.yaml", "limits: [{ name: a, algorithm: token_bucket, rate: 10/s, burst: 5 }]",
                Format::kYaml, with({}));
  EXPECT_TRUE(loaded.policy.has_value());
  EXPECT_EQ(all(loaded.warnings), "");
}

TEST(Load, SwitchesBetweenTablesOfNumbersByTheAlgorithm) {
  const std::string tables = R"(
    token_bucket: { rate: 10/s, burst: 20 }
    sliding_counter: { limit: 100, window: 60s }
    tiers:
      gold:
        token_bucket: { burst: 40 }
        sliding_counter: { limit: 200 }
)";
  const Policy bucket = load_yaml("limits:\n  - name: a\n    algorithm: token_bucket" + tables);
  EXPECT_EQ(bucket.limits[0].numbers, (NumberSet{TokenBucket{{1, 100ms}, 20}}));
  EXPECT_EQ(bucket.limits[0].tiers.at("gold"), (NumberSet{TokenBucket{{1, 100ms}, 40}}));
  const Policy window = load_yaml("limits:\n  - name: a\n    algorithm: sliding_counter" + tables);
  EXPECT_EQ(window.limits[0].numbers, (NumberSet{SlidingCounter{100, 60s, Align::kEpoch}}));
  EXPECT_EQ(window.limits[0].tiers.at("gold"),
            (NumberSet{SlidingCounter{200, 60s, Align::kEpoch}}));
}

TEST(Load, ReadsSeveralPairsOfNumbersAsOneLimit) {
  const Policy policy = load_yaml(R"(
limits:
  - name: a
    algorithm: sliding_counter
    windows: [{ limit: 10, window: 1s }, { limit: 1000, window: 1d, align: first }]
    tiers: { gold: { limit: 5, window: 1s } }
  - name: b
    algorithm: token_bucket
    buckets: [{ rate: 10/s }, { rate: 100/min, burst: 7 }]
)");
  EXPECT_EQ(policy.limits[0].numbers, (NumberSet{SlidingCounter{10, 1s, Align::kEpoch},
                                                 SlidingCounter{1000, 24h, Align::kFirst}}));
  EXPECT_EQ(policy.limits[0].tiers.at("gold"), (NumberSet{SlidingCounter{5, 1s, Align::kEpoch}}));
  EXPECT_EQ(policy.limits[1].numbers,
            (NumberSet{TokenBucket{{1, 100ms}, 10}, TokenBucket{{1, 600ms}, 7}}));
}

TEST(Load, ReadsYamlAsVersionOnePointTwoDoes) {
  const Policy policy = load_yaml(R"(
enabled: True
limits:
  - { name: yes, algorithm: sliding_counter, limit: 010, window: 010, match: { header.x-a: no } }
  - { name: "010", algorithm: sliding_counter, limit: 1, window: 1s, match: { header.x-a: 0x10 } }
)");
  EXPECT_EQ(policy.limits[0].name, "yes");
  EXPECT_EQ(policy.limits[0].numbers, (NumberSet{SlidingCounter{10, 10s, Align::kEpoch}}));
  EXPECT_TRUE(policy.limits[0].match->conditions[0].pattern.matches("no"));
  EXPECT_EQ(policy.limits[1].name, "010");
  EXPECT_TRUE(policy.limits[1].match->conditions[0].pattern.matches("0x10"));
  EXPECT_EQ(mistakes_of("{ limits: [], enabled: yes }"),
            "p.yaml:1:24: enabled is 'yes', wants true or false\n");
}

TEST(Load, FollowsAnchorsAliasesAndMerges) {
  const Policy policy = load_yaml(R"(
limits:
  - &base { name: a, algorithm: token_bucket, rate: 1/s, burst: 5, key: &by [ip] }
  - { <<: *base, name: b, burst: 6 }
  - { name: c, algorithm: token_bucket, rate: 1/s, key: *by }
  - { name: d, <<: [{ burst: 7 }, *base] }
)");
  ASSERT_EQ(policy.limits.size(), 4u);
  EXPECT_EQ(policy.limits[1].name, "b");
  EXPECT_EQ(policy.limits[1].numbers, (NumberSet{TokenBucket{{1, 1s}, 6}}));
  EXPECT_EQ(policy.limits[2].key.size(), 1u);
  EXPECT_EQ(policy.limits[3].numbers, (NumberSet{TokenBucket{{1, 1s}, 7}}));
}

TEST(Load, RefusesAFileThatAliasesUnfoldWithoutEnd) {
  std::string text = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    const std::string before = std::string("*") + static_cast<char>(c - 1);
    text += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) text += (i > 0 ? "," : "") + before;
    text += "]\n";
  }
  EXPECT_NE(mistakes_of(text).find("aliases unfold this file to more than 4000000 values"),
            std::string::npos);
}

TEST(Load, RefusesListsWithinListsWithoutEnd) {
  const std::string deep = "limits: " + std::string(100000, '[');
  EXPECT_NE(mistakes_of(deep).find("more than 64 lists and mappings within each other"),
            std::string::npos);
  EXPECT_NE(mistakes_of("limits = " + std::string(100000, '['), Format::kToml), "");
}

// "a.a.a": a key of so many parts.
std::string key_of(int parts, const std::string& part = "a") {
  std::string key = part;
  for (int i = 1; i < parts; ++i) key += "." + part;
  return key;
}

TEST(Load, RefusesTomlKeysOfPartsWithoutEnd) {
  std::string tables = "1";
  for (int i = 0; i < 100; ++i) tables = "{ " + key_of(60) + " = " + tables + " }";
  const std::string deep = key_of(65) + " = 1\n";
  for (const std::string& text :
       {key_of(300'000) + " = 1\n", "[" + key_of(300'000) + "]\n", "[[" + key_of(300'000) + "]]\n",
        "x = " + tables + "\n", deep, key_of(65, R"("a.\"b")") + " = 1\n",
        key_of(65, " 'a' ") + " = 1\n", "x = \"\"\"\"\na\"\"\"\"\"\n" + deep,
        "x = '''a'''''#'\n" + deep, "x = [1.5, { " + key_of(63) + " = 1 }]\n",
        "[" + key_of(40) + "]\n" + key_of(40) + " = 1\n"}) {
    EXPECT_NE(mistakes_of(text, Format::kToml)
                  .find("not TOML: more than 64 lists and mappings within each other"),
              std::string::npos)
        << text.substr(0, 300);
  }
  EXPECT_NE(
      mistakes_of("limits = []\n  é = 1.5 # x\n" + deep, Format::kToml).find("p.yaml:3:128: "),
      std::string::npos);
}

TEST(Load, DotsThatPartNoTomlKeyAreNotCounted) {
  const std::string dots = key_of(100);
  for (const std::string& text :
       {key_of(64) + " = 1\n", "[" + key_of(63) + "]\n", key_of(62) + ".x = { y = 1.5 }\n",
        "# " + dots + "\n", R"(x = "\")" + dots + "\"\n", "x = '" + dots + "'\n",
        "x = '''\n" + dots + "\n'''''\n", "x = \"\"\"\n\\\"\"\"" + dots + "\"\"\"\n",
        "\"" + dots + "\" = 1\n", "x = [" + std::string(200, ' ') + "1.5, 1.5,\n 1.5]\n"}) {
    EXPECT_EQ(mistakes_of(text, Format::kToml).find("not TOML"), std::string::npos) << text;
  }
}

TEST(Load, TellsAnEmptyItemOfAListAtItsLine) {
  const auto place = [](const std::string& text) {
    const std::string mistake = mistakes_of(text);
    return mistake.substr(0, mistake.find(": limits is empty, wants a mapping of keys to values"));
  };
  EXPECT_EQ(place("limits:\n  -\n"), "p.yaml:2:3");
  EXPECT_EQ(place("limits:\n  - ~\n"), "p.yaml:2:3");
  EXPECT_EQ(place("limits:\n\n  - # one\n\n  # - two\nmode: shadow\n"), "p.yaml:3:3");
  EXPECT_EQ(place("limits: [\n  ~]\n"), "p.yaml:2:3");
  EXPECT_EQ(mistakes_of("limits:\n  -\n\n\n  -\n"),
            "p.yaml:2:3: limits is empty, wants a mapping of keys to values\n"
            "p.yaml:5:3: limits is empty, wants a mapping of keys to values\n");
  EXPECT_TRUE(mistakes_of("limits:\n").starts_with("p.yaml:1:1: limits is empty"));
}

TEST(Load, ExpandsVariablesOnceAndOnlyInValues) {
  const Policy policy = load_yaml(R"(
limits:
  - name: ${NAME}
    algorithm: token_bucket
    rate: "${RATE}/s"
    burst: ${BURST:-7}
    match: { header.x-a: "${A:-x} ${B} $${C} $5 ~" }
)",
                                  {{"NAME", "n"}, {"RATE", "2"}, {"B", "${NAME}"}, {"BURST", ""}});
  EXPECT_EQ(policy.limits[0].name, "n");
  EXPECT_EQ(policy.limits[0].numbers, (NumberSet{TokenBucket{{1, 500ms}, 7}}));
  EXPECT_TRUE(policy.limits[0].match->conditions[0].pattern.matches("x ${NAME} ${C} $5 ~"));
}

TEST(Load, LetsNobodyIntoTheAdminListenerBeyondLoopbackWithoutAToken) {
  EXPECT_EQ(mistakes_of("limits: []\nadmin: { listen: 0.0.0.0:9090 }\n"),
            "p.yaml:2:1: admin listens on 0.0.0.0:9090 without a token: whoever reaches it could "
            "see keys and change limits; set admin.token or admin.tls.client_ca, or listen on "
            "127.0.0.1\n");
  EXPECT_EQ(mistakes_of("limits: []\nadmin: { listen: 0.0.0.0:9090, token: t }\n"), "");
  EXPECT_EQ(mistakes_of("limits: []\nadmin: { listen: \"[::1]:9090\" }\n"), "");
}

TEST(Load, ReadsWhatIsToldOfKeysAndLogged) {
  const Policy policy = load_yaml(
      "limits: []\nmetrics: { top_keys: 7, keys: off }\nlog: { format: json, denials: 3 }\n");
  EXPECT_EQ(policy.metrics.top_keys, 7u);
  EXPECT_EQ(policy.metrics.keys, KeyForm::kOff);
  EXPECT_EQ(policy.log.format, LogFormat::kJson);
  EXPECT_EQ(policy.log.denials, 3u);
  EXPECT_EQ(mistakes_of("limits: []\nmetrics: { top_keys: 1001, keys: hash }\n"),
            "p.yaml:2:22: top_keys is 1001, wants 0 to 1000\n"
            "p.yaml:2:34: keys is 'hash', wants plain, hashed or off\n");
}

TEST(Load, NamesAVariableThatIsNotSet) {
  EXPECT_EQ(mistakes_of("limits: []\nadmin: { listen: \"${HERE}\" }\n"),
            "p.yaml:2:19: this value names the environment variable HERE, which is not set; set it "
            "or write ${HERE:-default}\n");
  EXPECT_EQ(mistakes_of("limits: []\nadmin: { listen: \"${HE RE}\" }\n"),
            "p.yaml:2:19: this value has ${HE RE}, wants ${NAME} or ${NAME:-default}; a plain ${ "
            "is written $${\n");
}

TEST(Load, TellsTheMistakesOfAFileInItsOrderAndTheSameEachTime) {
  const std::string text =
      "store: { timeout: x }\nlimits: [{ name: a, algorithm: b }]\nenabled: 3\nfoo: 1\n";
  const std::string once = mistakes_of(text);
  EXPECT_EQ(once, mistakes_of(text));
  std::vector<Diagnostic> found = load_text("p.yaml", text, Format::kYaml, with({})).mistakes;
  ASSERT_EQ(found.size(), 4u);
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LT(found[i - 1].at, found[i].at);
}

TEST(Load, TellsAThousandMistakesAndCountsTheRest) {
  std::string text = "limits:\n";
  for (int i = 0; i < 1500; ++i) text += "  - x\n";
  const std::vector<Diagnostic> found = load_text("p.yaml", text, Format::kYaml, with({})).mistakes;
  ASSERT_EQ(found.size(), 1001u);
  EXPECT_EQ(found.back().message, "500 more mistakes not shown");
}

TEST(Load, PutsTheCaretBelowItsCharacterInALongLine) {
  const std::string text =
      "limits: [" + std::string(500, ' ') + "{ nam: ä }" + std::string(500, ' ') + "]\n";
  const Diagnostic first = load_text("p.yaml", text, Format::kYaml, with({})).mistakes.front();
  EXPECT_LT(first.source.size(), 200u);
  const std::string shown = first.to_string();
  EXPECT_NE(shown.find("..."), std::string::npos);
  EXPECT_EQ(first.source.substr(first.caret, 1), "{") << shown;
}

TEST(Load, PutsOverrideAddressesInTheFormInWhichTheyAreCounted) {
  const Policy policy = load_yaml(R"(
limits:
  - name: a
    algorithm: token_bucket
    rate: 1/s
    key: [ip, user|ip]
    overrides:
      - { key: ["2001:db8:0:0:1::9", "::ffff:1.2.3.4"], rate: 2/s }
      - { key: ["1.2.3.4", bob], unlimited: true }
      - { key: ["2001:db8:1::/64", bob], rate: 2/s }
)");
  EXPECT_EQ(policy.limits[0].overrides[0].key, (std::vector<std::string>{"2001:db8::", "1.2.3.4"}));
  EXPECT_EQ(policy.limits[0].overrides[1].numbers, NumberSet{Unlimited{}});
  EXPECT_EQ(policy.limits[0].overrides[2].key[0], "2001:db8:1::");
  const std::string limit = "limits: [{ name: a, algorithm: token_bucket, rate: 1/s, key: [ip], ";
  EXPECT_EQ(mistakes_of(limit + "overrides: [{ key: [bob], rate: 2/s }] }]"),
            "p.yaml:1:88: key has 'bob', wants an IP address\n");
  EXPECT_EQ(mistakes_of(limit + "overrides: [{ key: [10.0.0.0/8], rate: 2/s }] }]"),
            "p.yaml:1:88: key has '10.0.0.0/8', which is more than one key: ipv4_prefix is 32\n");
}

TEST(Load, RefusesTwoListenersOnOnePort) {
  const std::string mistakes = mistakes_of(
      "limits: []\napi: { listen: 127.0.0.1:9090 }\nadmin: { listen: 127.0.0.1:9090 }\n");
  EXPECT_EQ(mistakes.substr(0, mistakes.find('\n')),
            "p.yaml:3:18: admin.listen is the address of api.listen too, give each listener its "
            "own port");
  EXPECT_EQ(mistakes_of("limits: []\napi: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }"),
            "");
}

TEST(Load, TakesOnlyUnicodeText) {
  EXPECT_EQ(mistakes_of(std::string("limits: []\n#\0\n", 13)),
            "p.yaml:2:2: this byte is not UTF-8 text, save the file as UTF-8\n");
  EXPECT_EQ(mistakes_of("\xEF\xBB\xBFlimits: []\n"), "");
}

}  // namespace
}  // namespace weir::policy
