// What is printed reads back as the same policy; YAML and TOML give the same policy.

#include "policy/print.h"

#include <gtest/gtest.h>

#include <random>

#include "policy/load.h"

namespace weir::policy {
namespace {

std::string all(const std::vector<Diagnostic>& found) {
  std::string out;
  for (const Diagnostic& one : found) out += one.to_string();
  return out;
}

std::string printed(const std::string& text, Format format) {
  const Loaded loaded = load_text("p", text, format);
  EXPECT_TRUE(loaded.policy.has_value()) << all(loaded.mistakes) << text;
  return loaded.policy ? print_yaml(*loaded.policy, {.show_secrets = true}) : "";
}

constexpr const char* kYaml = R"(
enabled: false
attributes: [plan]
store:
  { timeout: 50ms, on_error: local, instances: 3, max_keys: 5000, prefix: "w:",
    snapshot: { file: /var/lib/weir/a b, every: 90 } }
identity:
  client_ip: header:CF-Connecting-IP
  trusted_proxies: [10.0.0.0/8, "2001:db8::/32"]
  ipv6_prefix: 56
  user: jwt:sub
  tier: query:tier
  jwt: { keys: /etc/weir/keys.json, algorithms: [RS256, ES256], issuer: "https://id.test" }
response:
  { status: 503, headers: [retry-after], shadow_header: true, retry_jitter: 1.5s,
    body: problem+json, cors: ["https://example.org:8443", "http://[::1]:3000"] }
websocket:
  { kind: /a/kind, request_id: /id, max_inspect: 2MiB, unreadable: close, close_after: 3 }
paths:
  { merge_slashes: false, trailing_slash: keep, params: keep, case: fold, encoded_slash: refuse }
limits:
  - name: a
    algorithm: token_bucket
    rate: 0.2
    burst: 010
    key: [user|ip, header.X-Key]
    match: { method: [GET, HEAD], path: /a/*/b, header.x-y: "~a|b", ip: 10.0.0.0/8, plan: "f*" }
    except: [{ host: "*.example.org" }]
    missing: deny
    mode: shadow
    on_error: deny
    cost: 2
    max_cost: 5
    refund_when: { status: [2xx, 404] }
    settle: response_header:X-Usage
    ban: { after: 5, within: 1m, for: 10m, doubling_to: 1d }
    tiers: { gold: { rate: 5/s }, none: unlimited, "${X}": unlimited }
    overrides: [{ key: [u, k], burst: 99 }, { key: ["1", "2"], unlimited: true }]
  - name: b
    algorithm: sliding_counter
    windows: [{ limit: 10, window: 1 }, { limit: 100, window: 1h30m, align: first }]
    cost: header.x-cost
exempt: [{ path: /health }]
mode: shadow
block: [{ ip: 203.0.113.0/24 }, { user: [mallory, "bot*"], method: POST }]
gateway:
  listen: "[::1]:8080"
  upstream: http://[::1]:3000/
  routes:
    - host: ["*.example.org", "~a[0-9]+"]
      path: /api/**
      upstream:
        servers: [https://b:1, "unix:///run/c"]
        balance: least_connections
        eject: { failures: 0, base_time: 10m }
        check: { path: "/well?a=b", host: b.example.org, every: 1, unhealthy_after: 7 }
    - { path: [/b, /c], upstream: [http://b:2] }
  timeouts: { idle: 5, drain: 1m }
  max_headers: 50
  access_log: { file: /var/log/weir/access.log, format: json, query: true }
api: { listen: 127.0.0.1:8081, token: abc, adhoc: true, id_lifetime: 1h }
resp: { listen: 127.0.0.1:6380, password: abc }
grpc:
  { listen: 127.0.0.1:8082, token: abc, atomic: true, max_connections: 9,
    attributes: { remote_address: ip, "${X}": header.x-y } }
admin: { listen: 127.0.0.1:9090, token: "x$${y}", state: /var/lib/weir/changes }
metrics: { top_keys: 10, keys: hashed }
log: { format: json, denials: 5 }
)";

constexpr const char* kToml = R"(
enabled = false
attributes = ["plan"]
exempt = [{ path = "/health" }]
mode = "shadow"
block = [{ ip = "203.0.113.0/24" }, { user = ["mallory", "bot*"], method = "POST" }]

[store]
timeout = "50ms"
on_error = "local"
instances = 3
max_keys = 5_000
prefix = "w:"
snapshot = { file = "/var/lib/weir/a b", every = "1m30s" }

[identity]
client_ip = "header:CF-Connecting-IP"
trusted_proxies = ["10.0.0.0/8", "2001:db8::/32"]
ipv6_prefix = 0x38
user = "jwt:sub"
tier = "query:tier"
jwt = { keys = "/etc/weir/keys.json", algorithms = ["RS256", "ES256"], issuer = "https://id.test" }

[response]
status = 503
headers = ["retry-after"]
body = "problem+json"
cors = ["https://example.org:8443", "http://[::1]:3000"]
shadow_header = true
retry_jitter = 1.5

[websocket]
kind = "/a/kind"
request_id = "/id"
max_inspect = "2MiB"
unreadable = "close"
close_after = 3

[paths]
merge_slashes = false
trailing_slash = "keep"
params = "keep"
case = "fold"
encoded_slash = "refuse"

[[limits]]
name = "a"
algorithm = "token_bucket"
rate = 0.2
burst = 10
key = ["user|ip", "header.X-Key"]
match.method = ["GET", "HEAD"]
match.path = "/a/*/b"
match."header.x-y" = "~a|b"
match.ip = "10.0.0.0/8"
match.plan = "f*"
except = [{ host = "*.example.org" }]
missing = "deny"
mode = "shadow"
on_error = "deny"
cost = 2
max_cost = 5
refund_when = { status = ["2xx", "404"] }
settle = "response_header:x-usage"
ban = { after = 5, within = "60s", for = "10m", doubling_to = "24h" }
tiers = { gold = { rate = "5/s" }, none = "unlimited", "${X}" = "unlimited" }
overrides = [{ key = ["u", "k"], burst = 99 }, { key = [1, 2], unlimited = true }]

[[limits]]
name = "b"
algorithm = "sliding_counter"
windows = [{ limit = 10, window = 1 }, { limit = 100, window = "1h30m", align = "first" }]
cost = "header.x-cost"

[gateway]
listen = "[::1]:8080"
upstream = "http://[::1]:3000/"
max_headers = 50
access_log = { file = "/var/log/weir/access.log", format = "json", query = true }
timeouts = { idle = 5, drain = "1m" }

[[gateway.routes]]
host = ["*.example.org", "~a[0-9]+"]
path = "/api/**"

[gateway.routes.upstream]
servers = ["https://b:1", "unix:///run/c"]
balance = "least_connections"
eject = { failures = 0, base_time = "600s" }
check = { path = "/well?a=b", host = "b.example.org", every = "1s", unhealthy_after = 7 }

[[gateway.routes]]
path = ["/b", "/c"]
upstream = "http://b:2"

[api]
listen = "127.0.0.1:8081"
token = "abc"
adhoc = true
id_lifetime = "60m"

[resp]
listen = "127.0.0.1:6380"
password = "abc"

[grpc]
listen = "127.0.0.1:8082"
token = "abc"
atomic = true
max_connections = 9
attributes = { remote_address = "ip", "${X}" = "header.x-y" }

[admin]
listen = "127.0.0.1:9090"
token = "x$${y}"
state = "/var/lib/weir/changes"

[metrics]
top_keys = 10
keys = "hashed"

[log]
format = "json"
denials = 5
)";

TEST(Print, GivesTheSamePolicyForYamlAndToml) {
  EXPECT_EQ(printed(kYaml, Format::kYaml), printed(kToml, Format::kToml));
}

TEST(Print, ReadsBackAsTheSamePolicy) {
  const std::string once = printed(kYaml, Format::kYaml);
  EXPECT_EQ(printed(once, Format::kYaml), once);
}

TEST(Print, ShowsNoSecretUnlessAskedTo) {
  const Loaded loaded = load_text("p",
                                  "limits: []\nadmin: { listen: 127.0.0.1:1, token: hunter2 }\n"
                                  "api: { listen: 127.0.0.1:2, token: hunter2 }\n"
                                  "resp: { listen: 127.0.0.1:3, password: hunter2 }\n"
                                  "grpc: { listen: 127.0.0.1:4, token: hunter2 }\n",
                                  Format::kYaml);
  ASSERT_TRUE(loaded.policy.has_value());
  EXPECT_EQ(print_yaml(*loaded.policy).find("hunter2"), std::string::npos);
  EXPECT_NE(print_yaml(*loaded.policy, {.show_secrets = true}).find("hunter2"), std::string::npos);
}

// --- generated policies

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::string policy() {
    std::string out = "limits:\n";
    const int count = number(1, 4);
    for (int i = 0; i < count; ++i) out += limit(i);
    return out;
  }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  template <std::size_t N>
  std::string one_of(const char* const (&words)[N]) {
    return words[static_cast<std::size_t>(number(0, static_cast<int>(N) - 1))];
  }

  std::string rate() {
    static constexpr const char* kUnits[] = {"/s", "/min", "/h", "/day", "/3s", " per 1h30m", ""};
    return std::to_string(number(0, 5000)) +
           (number(0, 1) ? "." + std::to_string(number(0, 99)) : "") + one_of(kUnits);
  }
  std::string duration() {
    static constexpr const char* kUnits[] = {"", "s", "ms", "m", "h", "m1.25s", "d"};
    return std::to_string(number(1, 900)) + one_of(kUnits);
  }
  std::string bucket() { return "rate: " + rate() + ", burst: " + std::to_string(number(0, 50)); }
  std::string window() {
    return "limit: " + std::to_string(number(0, 500)) + ", window: " + duration() +
           (number(0, 1) ? ", align: first" : "");
  }
  std::string match() {
    static constexpr const char* kMatches[] = {
        "{ path: /a/** }", "{ method: [GET, POST], path: '~/x[0-9]+' }",
        "{ ip: [10.0.0.0/8, '2001:db8::1'] }", "{ header.X-A: 'a*\"b\\', query.q: \"\\x01$${x}\" }",
        "{ host: EXAMPLE.org, user: ü }"};
    return one_of(kMatches);
  }

  std::string limit(int index) {
    const bool buckets = number(0, 1) == 0;
    const auto pair = [&] { return buckets ? bucket() : window(); };
    std::string out = "  - name: l" + std::to_string(index) +
                      "\n    algorithm: " + (buckets ? "token_bucket" : "sliding_counter") + "\n";
    const std::string list = buckets ? "buckets" : "windows";
    if (number(0, 2) == 0) {
      out += "    " + list + ": [{ " + pair() + " }, { " + pair() + " }]\n";
    } else {
      out += "    " + std::string(buckets ? "token_bucket" : "sliding_counter") + ": { " + pair() +
             " }\n";
    }
    static constexpr const char* kKeys[] = {"[ip]", "[user|ip, path]", "[header.x-k]"};
    const std::string key = one_of(kKeys);
    out += "    key: " + key + "\n";
    if (number(0, 1)) out += "    match: " + match() + "\n";
    if (number(0, 1)) out += "    except: [" + match() + ", " + match() + "]\n";
    if (number(0, 1)) {
      out += "    tiers: { gold: { " + pair() + " }, ' odd \"name\" ': unlimited }\n";
    }
    if (number(0, 1)) {
      const std::string value = key == "[ip]" ? "'::ffff:1.2.3.4'" : "10";
      out += "    overrides: [{ key: [" + value + (key[1] == 'u' ? ", /x" : "") + "], " + pair() +
             " }]\n";
    }
    return out;
  }

  std::mt19937 random_;
};

TEST(Print, ReadsBackWhateverItPrintsOfGeneratedPolicies) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const std::string text = Generator(seed).policy();
    const Loaded loaded = load_text("p", text, Format::kYaml);
    ASSERT_TRUE(loaded.policy.has_value()) << "seed " << seed << "\n"
                                           << all(loaded.mistakes) << text;
    const std::string once = print_yaml(*loaded.policy, {.show_secrets = true});
    ASSERT_EQ(printed(once, Format::kYaml), once) << "seed " << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace weir::policy
