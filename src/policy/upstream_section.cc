// `gateway.upstream` and `gateway.routes`: where requests go.

#include <algorithm>
#include <array>
#include <utility>

#include "policy/address.h"
#include "policy/match.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxRoutes = 1000;  // each is looked at in turn
constexpr std::string_view kWantsUrl = "http://host:port";

void read_server(Reader& reader, const Entry& entry, UpstreamGroup& out) {
  const std::string* text = read_scalar(reader, entry, kWantsUrl);
  if (text == nullptr) return;
  if (text->find('@') != std::string::npos) reader.hide(*entry.value);
  Parsed<Upstream> parsed = parse_upstream(*text);
  if (const auto* error = std::get_if<ScalarError>(&parsed)) {
    reader.mistake(entry, *error);
    return;
  }
  Upstream server = std::get<Upstream>(std::move(parsed));
  const auto same = [&](const Upstream& other) { return other.same_server(server); };
  if (std::any_of(out.servers.begin(), out.servers.end(), same)) {
    reader.mistake(entry.value->at, entry.key + " has " + server.url() + " twice, keep one");
    return;
  }
  out.servers.push_back(std::move(server));
}

// One URL, or a list of them.
void read_servers(Reader& reader, const Entry& entry, UpstreamGroup& out) {
  if (entry.value->kind != Node::Kind::kSequence) return read_server(reader, entry, out);
  const std::vector<Entry> items = read_items(reader, entry, kWantsUrl);
  if (items.empty() || items.size() > UpstreamGroup::kMaxServers) {
    reader.mistake(entry.value->at, entry.key + " is a list of " + std::to_string(items.size()) +
                                        ", wants 1 to " +
                                        std::to_string(UpstreamGroup::kMaxServers) + " URLs");
    return;
  }
  for (const Entry& item : items) read_server(reader, item, out);
}

constexpr std::array<std::pair<std::string_view, Balance>, 2> kBalances{
    {{"round_robin", Balance::kRoundRobin}, {"least_connections", Balance::kLeastConnections}}};

constexpr std::array kEjectFields{
    Field<Ejection>{{"failures", "whole number, 0 to 1000", "5",
                     "So many requests in a row that got no answer put a server out; 0: none do."},
                    [](Reader& r, const Entry& e, Ejection& out) {
                      read_number(r, e, out.failures, {0, 1000});
                    }},
    Field<Ejection>{{"base_time", "duration, 1ms to 1d", "10s",
                     "For how long; twice as long each time that it fails again."},
                    [](Reader& r, const Entry& e, Ejection& out) {
                      read_duration(r, e, out.base_time, {milliseconds(1), hours(24)});
                    }},
    Field<Ejection>{
        {"max_time", "duration, 1ms to 1d", "5m", "But no longer than this; at least base_time."},
        [](Reader& r, const Entry& e, Ejection& out) {
          read_duration(r, e, out.max_time, {milliseconds(1), hours(24)});
        }},
};

void read_eject(Reader& reader, const Entry& entry, UpstreamGroup& out) {
  const std::size_t before = reader.mistakes();
  read_fields<Ejection>(reader, entry, kEjectFields, out.eject);
  if (reader.mistakes() != before || out.eject.max_time >= out.eject.base_time) return;
  if (const Entry* written = entry.value->find("max_time")) {
    reader.mistake(written->at, "max_time is below base_time, wants at least as much");
  }
  out.eject.max_time = out.eject.base_time;
}

bool is_request_target(std::string_view text) {
  return text.starts_with('/') && text.size() <= 2048 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
}

void read_check_path(Reader& reader, const Entry& entry, HealthCheck& out) {
  if (!read_text(reader, entry, out.path) || is_request_target(out.path)) return;
  reader.mistake(entry, {"is " + quote(out.path) + ", wants a path such as /healthz"});
}

void read_check_host(Reader& reader, const Entry& entry, HealthCheck& out) {
  if (!read_text(reader, entry, out.host) || is_host(out.host)) return;
  if (std::holds_alternative<Address>(parse_address(out.host))) return;
  reader.mistake(entry, {"is " + quote(out.host) + ", wants a host such as shop.example.org"});
}

constexpr std::array kCheckFields{
    Field<HealthCheck>{
        {"path", "path", kRequired, "What is asked for by GET; 2xx and 3xx pass, all else fails."},
        read_check_path},
    Field<HealthCheck>{{"host", "host, or host:port", "", "Its `Host`; left out: the server's."},
                       read_check_host},
    Field<HealthCheck>{{"every", "duration, 10ms to 1h", "5s", "From one check to the next."},
                       [](Reader& r, const Entry& e, HealthCheck& out) {
                         read_duration(r, e, out.every, {milliseconds(10), hours(1)});
                       }},
    Field<HealthCheck>{{"timeout", "duration, 1ms to 1m", "2s", "For the head of its answer."},
                       [](Reader& r, const Entry& e, HealthCheck& out) {
                         read_duration(r, e, out.timeout, {milliseconds(1), seconds(60)});
                       }},
    Field<HealthCheck>{{"healthy_after", "whole number, 1 to 100", "2",
                        "So many passed in a row bring a server back."},
                       [](Reader& r, const Entry& e, HealthCheck& out) {
                         read_number(r, e, out.healthy_after, {1, 100});
                       }},
    Field<HealthCheck>{
        {"unhealthy_after", "whole number, 1 to 100", "3", "So many failed in a row put it out."},
        [](Reader& r, const Entry& e, HealthCheck& out) {
          read_number(r, e, out.unhealthy_after, {1, 100});
        }},
};

constexpr std::array kUpstreamFields{
    Field<UpstreamGroup>{
        {"servers", "URL, or a list of 1 to 64 of them", kRequired, "Servers that do the same."},
        read_servers},
    Field<UpstreamGroup>{{"balance", "round_robin or least_connections", "round_robin",
                          "Who gets the next request: each in turn, or who has the fewest."},
                         [](Reader& r, const Entry& e, UpstreamGroup& out) {
                           read_enum<Balance>(r, e, kBalances, out.balance);
                         }},
    Field<UpstreamGroup>{
        {"eject", "a mapping, see below", "", "When a server that fails is left out for a while."},
        read_eject},
    Field<UpstreamGroup>{{"check", "a mapping, see below", "",
                          "Asks each server by itself whether it is well; left out: nobody asks."},
                         [](Reader& r, const Entry& e, UpstreamGroup& out) {
                           read_fields<HealthCheck>(r, e, kCheckFields, out.check.emplace());
                         }},
};

template <Attribute::Kind kKind>
void read_condition(Reader& reader, const Entry& entry, Route& out) {
  Condition condition{Attribute{kKind, {}}, {}};
  read_pattern(reader, entry, condition.attribute, false, condition.pattern);
  out.match.conditions.push_back(std::move(condition));
}

constexpr std::array kRouteFields{
    Field<Route>{{"host", "host, list of them, wildcard or ~regex", "",
                  "The hosts that take this route; left out: all."},
                 read_condition<Attribute::Kind::kHost>},
    Field<Route>{{"path", "path pattern, list of them or ~regex", "",
                  "The paths that take it, as in `match`; left out: all."},
                 read_condition<Attribute::Kind::kPath>},
    Field<Route>{{"upstream", "as `gateway.upstream`", kRequired, "Where it leads."},
                 [](Reader& r, const Entry& e, Route& out) { read_upstream(r, e, out.upstream); }},
};

void read_route(Reader& reader, const Entry& entry, std::vector<Route>& out) {
  Route& route = out.emplace_back();
  const std::size_t before = reader.mistakes();
  read_fields<Route>(reader, entry, kRouteFields, route);
  if (reader.mistakes() == before && route.match.conditions.empty()) {
    reader.mistake(entry.value->at,
                   "a route has neither host nor path: write its upstream as gateway.upstream");
  }
}

}  // namespace

void read_upstream(Reader& reader, const Entry& entry, UpstreamGroup& out) {
  if (entry.value->kind == Node::Kind::kMapping) {
    read_fields<UpstreamGroup>(reader, entry, kUpstreamFields, out);
  } else {
    read_servers(reader, entry, out);
  }
}

void read_routes(Reader& reader, const Entry& entry, std::vector<Route>& out) {
  const std::vector<Entry> items =
      read_items(reader, entry, "a list such as [{ path: /api/**, upstream: http://host:port }]");
  if (items.size() > kMaxRoutes) {
    reader.mistake(entry.at, "routes has more than " + std::to_string(kMaxRoutes) + " entries");
    return;
  }
  for (const Entry& item : items) read_route(reader, item, out);
}

void document_upstreams(std::vector<SectionDoc>& out) {
  out.push_back(document<UpstreamGroup>(
      "gateway.upstream", "One service. A URL or a list of them stands for `servers` alone.",
      kUpstreamFields));
  out.push_back(document<Ejection>("gateway.upstream.eject", "", kEjectFields));
  out.push_back(document<HealthCheck>("gateway.upstream.check", "", kCheckFields));
  out.push_back(
      document<Route>("gateway.routes[]", "The first that matches is taken.", kRouteFields));
}

}  // namespace weir::policy
