// Policy: a policy file after checking. Plain immutable data: everything in it is right.
//
// One struct per section of the file, members named as the file's keys. What a section means stands
// in docs/policy.md; how it is read in schema.cc.
//
// THREADS: immutable after load.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ip.h"
#include "policy/attribute.h"
#include "policy/pattern.h"
#include "weir/numbers.h"
#include "weir/time.h"

namespace weir::policy {

enum class OnError : std::uint8_t { kAllow, kDeny, kLocal };

// A file that keeps the memory store's counters over a restart.
struct Snapshot {
  std::string file;
  Duration every = std::chrono::seconds(60);
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

struct Store {
  std::string url = "memory://";
  Duration timeout = std::chrono::milliseconds(20);
  Duration connect_timeout = std::chrono::seconds(1);
  OnError on_error = OnError::kAllow;
  std::optional<std::uint32_t> instances;  // absent: auto
  Duration deny_cache = std::chrono::seconds(1);
  std::string prefix = "weir:";
  std::uint64_t max_keys = 1'000'000;
  std::optional<Snapshot> snapshot;  // in memory only
  // TLS towards the store; empty: the system's authorities, no client certificate, the host's name.
  std::string ca;
  std::string cert;
  std::string key;
  std::string server_name;

  bool in_memory() const { return url == "memory://"; }
};

// Where one identity attribute comes from.
struct AttributeSource {
  enum class Kind : std::uint8_t { kHeader, kCookie, kQuery, kJwt } kind = Kind::kHeader;
  std::string name;  // header names in lower case
};

// How a JSON Web Token is checked (src/jwt).
struct Jwt {
  std::string keys;                     // the file
  std::vector<std::string> algorithms;  // "RS256"; at least one
  std::string issuer;                   // empty: any
  std::string audience;                 // empty: any
};

class Tokens;  // identity.h

enum class ClientIpSource : std::uint8_t {
  kXForwardedFor,
  kForwarded,
  kXRealIp,
  kHeader,
  kProxyProtocol,
  kPeer,
};

struct Identity {
  ClientIpSource client_ip = ClientIpSource::kXForwardedFor;
  std::string client_ip_header;  // kHeader: its name, lower case
  std::vector<IpPrefix> trusted_proxies;
  std::uint8_t ipv4_prefix = 32;
  std::uint8_t ipv6_prefix = 64;
  AttributeSource user{AttributeSource::Kind::kHeader, "x-user-id"};
  AttributeSource tier{AttributeSource::Kind::kHeader, "x-plan"};
  bool trust_clients = false;
  std::optional<Jwt> jwt;
  // Checks tokens by `jwt`; whoever puts the policy in force provides it. Null: none is believed.
  std::shared_ptr<const Tokens> tokens;
};

// One `match`, `except` or `exempt` entry: all named attributes must hold.
struct Condition {
  Attribute attribute;
  Pattern pattern;  // any alternative of it
};

struct Match {
  std::vector<Condition> conditions;
};

// One part of a key: the first of these that is present ([user|ip] has two).
struct KeyPart {
  std::vector<Attribute> alternatives;
};

// Requests that are refused, for ever or until a moment of the wall clock.
struct Block {
  Match match;
  std::optional<std::int64_t> until_ns;  // Unix time; a ban of the admin API's that ends
  bool ban = false;                      // one of the admin API's
};

struct Cost {
  std::uint64_t fixed = 1;
  std::optional<Attribute> from;  // an attribute that holds the cost; then `fixed` is unused
  std::optional<std::uint64_t> max_cost;
};

// A set of numbers. Usually one; several (`windows:`, `buckets:`) are one limit, one decision, all
// or nothing.
using NumberSet = std::vector<Numbers>;

struct Override {
  std::vector<std::string> key;
  NumberSet numbers;
};

// Refuses a key for a while that has been refused too often.
struct Ban {
  std::uint32_t after = 0;  // refusals
  Duration within{0};       // of which span
  Duration length{0};       // of the first ban; each further one lasts twice as long
  Duration doubling_to{0};  // up to this
};

enum class Mode : std::uint8_t { kEnforce, kShadow };
enum class Missing : std::uint8_t { kSkip, kShare, kDeny };

struct Limit {
  std::string name;
  NumberSet numbers;
  std::optional<Match> match;  // absent: every request
  std::vector<Match> except;
  std::vector<KeyPart> key;  // empty: one counter for all
  Cost cost;
  std::map<std::string, NumberSet> tiers;
  std::vector<Override> overrides;
  Mode mode = Mode::kEnforce;
  Missing missing = Missing::kSkip;
  std::optional<OnError> on_error;  // absent: the store's
  std::optional<Ban> ban;
  // The upstream's statuses that give the cost back, such as "2xx" or "404"; empty: none does.
  std::vector<std::string> refund_when;
  std::string settle;  // the response header that says what a call cost; empty: none does
};

enum class HeaderFamily : std::uint8_t { kXRateLimit, kRateLimit, kRetryAfter };
enum class BodyFormat : std::uint8_t { kJson, kProblemJson, kTemplate };

class BodyTemplate;  // body_template.h

// Which pages of other origins a browser lets read the gateway's own answers.
struct Cors {
  bool any_origin = false;           // `echo`
  std::vector<std::string> origins;  // as a browser sends them: "https://example.org"

  bool on() const { return any_origin || !origins.empty(); }
  bool admits(std::string_view origin) const;
};

struct Response {
  int status = 429;
  std::vector<HeaderFamily> headers{HeaderFamily::kXRateLimit, HeaderFamily::kRateLimit,
                                    HeaderFamily::kRetryAfter};
  BodyFormat body = BodyFormat::kJson;
  std::string template_file;                          // kTemplate
  std::shared_ptr<const BodyTemplate> body_template;  // kTemplate: what the file held
  Cors cors;
  bool shadow_header = false;
  Duration retry_jitter{0};

  bool sends(HeaderFamily family) const;
};

enum class Unreadable : std::uint8_t { kRefuse, kPass, kClose };

struct WebSocket {
  std::string kind = "/type";
  std::string request_id = "/request_id";
  std::uint64_t max_inspect = 1 << 20;
  Unreadable unreadable = Unreadable::kRefuse;
  std::uint32_t close_after = 0;  // refusals in a row on one connection; 0: never
};

// How paths are compared. See policy/path.h.
struct Paths {
  bool merge_slashes = true;
  bool ignore_trailing_slash = true;
  bool ignore_params = true;
  bool fold_case = false;
  bool keep_encoded_slash = true;  // false: refused (see docs/policy.md)
};

struct Address {
  std::string host;  // an IP address or a name; without brackets
  std::uint16_t port = 0;
  std::string path{};  // not empty: a unix socket, in place of the two

  bool is_unix() const { return !path.empty(); }
  std::string to_string() const;  // brackets around IPv6; "unix:///run/weir.sock"
};

struct Upstream {
  Address address;
  std::string authority;  // what was written, for messages
  bool tls = false;
  std::string url() const;  // "https://example.org"
  // Whether it is the same server, however the two were written.
  bool same_server(const Upstream& other) const {
    return tls == other.tls && address.to_string() == other.address.to_string();
  }
};

struct Certificate {
  std::string cert;  // paths of PEM files
  std::string key;
};

// TLS on a listener.
struct Tls {
  std::vector<Certificate> certificates;  // the first for who names no host, or an unknown one
  std::string client_ca;                  // empty: clients need no certificate
};

// How the servers of a group share its requests.
enum class Balance : std::uint8_t { kRoundRobin, kLeastConnections };

// When a server that fails is left out of its group, and for how long.
struct Ejection {
  std::uint32_t failures = 5;  // in a row; 0: never
  Duration base_time = std::chrono::seconds(10);
  Duration max_time = std::chrono::minutes(5);
  friend bool operator==(const Ejection&, const Ejection&) = default;
};

// A request that is sent to each server of a group by itself, to see whether it answers.
struct HealthCheck {
  std::string path;
  std::string host;  // empty: the server's own
  Duration every = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(2);
  std::uint32_t healthy_after = 2;    // passed in a row
  std::uint32_t unhealthy_after = 3;  // failed in a row
  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

// One service: servers that do the same.
struct UpstreamGroup {
  static constexpr std::size_t kMaxServers = 64;

  std::vector<Upstream> servers;
  Balance balance = Balance::kRoundRobin;
  Ejection eject;
  std::optional<HealthCheck> check;
};

// Another service for requests of some hosts and paths.
struct Route {
  Match match;  // of kHost and kPath
  UpstreamGroup upstream;
};

// TLS towards somebody; empty: the system's authorities, no certificate of ours, the host's name.
struct ClientTls {
  std::string ca;
  std::string cert;
  std::string key;
  std::string server_name;
};

// What every listener has.
struct Listener {
  Address listen;
  std::optional<Tls> tls;
  bool proxy_protocol = false;
  std::uint32_t max_connections = 0;             // 0: half of the limit of open files
  std::uint32_t max_connections_per_client = 0;  // 0: no bound

  // Whether a client's certificate is checked.
  bool checks_clients() const { return tls && !tls->client_ca.empty(); }
};

// How long the gateway waits, phase by phase. 0 is never allowed: nothing waits for ever.
struct GatewayTimeouts {
  Duration header = std::chrono::seconds(15);    // first byte of a request to end of its head
  Duration idle = std::chrono::seconds(60);      // between requests of one connection
  Duration body = std::chrono::seconds(30);      // between two reads or writes of a body
  Duration connect = std::chrono::seconds(5);    // to the upstream
  Duration response = std::chrono::seconds(60);  // request sent to head of the response
  Duration drain = std::chrono::seconds(30);     // SIGTERM to the last connection closed
};

enum class AccessFormat : std::uint8_t { kCombined, kJson };

// A line for each request.
struct AccessLog {
  std::string file;
  AccessFormat format = AccessFormat::kCombined;
  bool query = false;  // queries stand in it
};

struct Gateway : Listener {
  UpstreamGroup upstream;  // without servers: there are routes alone
  std::vector<Route> routes;
  ClientTls upstream_tls;
  GatewayTimeouts timeouts;
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint32_t max_headers = 100;
  std::optional<AccessLog> access_log;
};

struct Api : Listener {
  std::string token;
  bool adhoc = false;                               // callers may bring their own numbers
  Duration id_lifetime = std::chrono::minutes(15);  // how long a decision's cost can be corrected
};

struct Resp : Listener {
  std::string password;  // empty: none is needed
};

struct Grpc : Listener {
  std::map<std::string, Attribute> attributes;  // descriptor keys that mean another attribute
  bool atomic = false;                          // all descriptors of a call are charged, or none is
  std::string token;
};

struct Admin : Listener {
  std::string token;
  std::string state;  // a file for changes made through the admin API; empty: none
};

enum class KeyForm : std::uint8_t { kPlain, kHashed, kOff };

// What is told of keys, to whom metrics are shown.
struct Metrics {
  std::uint32_t top_keys = 50;  // the most refused ones
  KeyForm keys = KeyForm::kPlain;
};

enum class LogFormat : std::uint8_t { kLogfmt, kJson };

struct Log {
  LogFormat format = LogFormat::kLogfmt;
  std::uint32_t denials = 0;  // refused requests that get a line, at most so many a second
};

struct Policy {
  std::string file;  // as named on the command line
  bool enabled = true;
  Mode mode = Mode::kEnforce;  // kShadow: nothing is refused
  Store store;
  std::vector<std::string> attributes;
  Identity identity;
  std::vector<Limit> limits;
  std::vector<Match> exempt;
  std::vector<Block> block;  // refused, unless exempt
  Response response;
  WebSocket websocket;
  Paths paths;
  std::optional<Gateway> gateway;
  std::optional<Api> api;
  std::optional<Resp> resp;
  std::optional<Grpc> grpc;
  std::optional<Admin> admin;
  Metrics metrics;
  Log log;
};

}  // namespace weir::policy
