// `gateway`: the listener that forwards, its upstream and its timeouts.

#include <array>

#include "policy/listener_fields.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::string_view kTimeout = "duration, 1ms to 1h";

template <Duration GatewayTimeouts::*kMember>
void read_timeout(Reader& reader, const Entry& entry, GatewayTimeouts& out) {
  read_duration(reader, entry, out.*kMember, {milliseconds(1), hours(1)});
}

constexpr std::array kTimeoutFields{
    Field<GatewayTimeouts>{
        {"header", kTimeout, "15s", "From the first byte of a request to the end of its head."},
        read_timeout<&GatewayTimeouts::header>},
    Field<GatewayTimeouts>{{"idle", kTimeout, "60s", "Between two requests of one connection."},
                           read_timeout<&GatewayTimeouts::idle>},
    Field<GatewayTimeouts>{{"body", kTimeout, "30s", "Between two reads or writes of a body."},
                           read_timeout<&GatewayTimeouts::body>},
    Field<GatewayTimeouts>{{"connect", kTimeout, "5s", "To reach the upstream."},
                           read_timeout<&GatewayTimeouts::connect>},
    Field<GatewayTimeouts>{{"response", kTimeout, "60s",
                            "From the request sent to the head of the upstream's response."},
                           read_timeout<&GatewayTimeouts::response>},
    Field<GatewayTimeouts>{
        {"drain", kTimeout, "30s", "From the signal to stop to the last connection closed."},
        read_timeout<&GatewayTimeouts::drain>},
};

void read_timeouts(Reader& reader, const Entry& entry, Gateway& out) {
  read_fields<GatewayTimeouts>(reader, entry, kTimeoutFields, out.timeouts);
}

void read_upstream(Reader& reader, const Entry& entry, std::vector<Upstream>& out) {
  const std::string* text = read_scalar(reader, entry, "http://host:port");
  if (text == nullptr) return;
  if (text->find('@') != std::string::npos) reader.hide(*entry.value);
  if (text->starts_with("unix:")) {
    reader.refuse_unbuilt(Feature::kUnixSockets, entry.value->at);
    return;
  }
  std::string url = *text;
  if (url.starts_with("https://")) {  // checked as if it were built, then refused
    reader.refuse_unbuilt(Feature::kUpstreamTls, entry.value->at);
    url.erase(4, 1);
  }
  Parsed<Address> address = parse_http_url(url);
  if (const auto* error = std::get_if<ScalarError>(&address)) {
    reader.mistake(entry, *error);
    return;
  }
  std::string authority = url.substr(std::string_view("http://").size());
  if (authority.ends_with('/')) authority.pop_back();
  out.push_back({std::get<Address>(std::move(address)), std::move(authority)});
}

void read_upstreams(Reader& reader, const Entry& entry, Gateway& out) {
  if (entry.value->kind != Node::Kind::kSequence) {
    read_upstream(reader, entry, out.upstreams);
    return;
  }
  const std::vector<Entry> items = read_items(reader, entry, "http://host:port");
  if (items.empty()) reader.mistake(entry.value->at, "upstream is an empty list, wants one URL");
  for (const Entry& item : items) read_upstream(reader, item, out.upstreams);
  if (items.size() > 1) reader.refuse_unbuilt(Feature::kManyUpstreams, items[1].at);
}

struct Route {
  std::string host;
  std::string path;
  std::vector<Upstream> upstreams;
};

constexpr std::array kRouteFields{
    Field<Route>{{"host", "text", "", "The host that takes this route."},
                 [](Reader& r, const Entry& e, Route& out) { read_text(r, e, out.host); }},
    Field<Route>{{"path", "path pattern", "", "The paths that take it."},
                 [](Reader& r, const Entry& e, Route& out) { read_text(r, e, out.path); }},
    Field<Route>{{"upstream", "URL", kRequired, "Where it leads."},
                 [](Reader& r, const Entry& e, Route& out) { read_upstream(r, e, out.upstreams); }},
};

void read_routes(Reader& reader, const Entry& entry, Gateway&) {
  for (const Entry& item : read_items(reader, entry, "a list of routes")) {
    Route unused;
    read_fields<Route>(reader, item, kRouteFields, unused);
  }
}

void read_proxy_protocol(Reader& reader, const Entry& entry, Gateway&) {
  bool wanted = false;
  if (read_bool(reader, entry, wanted) && wanted) {
    reader.refuse_unbuilt(Feature::kProxyProtocol, entry.at);
  }
}

constexpr std::array kGatewayFields{
    Field<Gateway>{{"listen", "host:port", kRequired, "Where clients connect."},
                   [](Reader& r, const Entry& e, Gateway& g) { read_listen(r, e, g.listen); }},
    Field<Gateway>{{"upstream", "URL, or a list of them (several: not yet)", kRequired,
                    "Where admitted requests go: `http://host:port`."},
                   read_upstreams},
    Field<Gateway>{{"timeouts", "a mapping, see below", "", "How long each phase may take."},
                   read_timeouts},
    Field<Gateway>{{"max_header_bytes", "whole number, 1024 to 1048576", "65536",
                    "The largest head of a request or response."},
                   [](Reader& r, const Entry& e, Gateway& g) {
                     read_number(r, e, g.max_header_bytes, {1024, 1 << 20});
                   }},
    Field<Gateway>{{"max_headers", "whole number, 8 to 1000", "100",
                    "The most header lines of a request or response."},
                   [](Reader& r, const Entry& e, Gateway& g) {
                     read_number(r, e, g.max_headers, {8, 1000});
                   }},
    Field<Gateway>{{"tls", "a mapping, see below", "", "Serves HTTPS.", Feature::kTls},
                   read_tls<Gateway>},
    Field<Gateway>{{"proxy_protocol", "true or false", "false",
                    "Connections begin with a PROXY protocol header (true: not yet)."},
                   read_proxy_protocol},
    Field<Gateway>{{"routes", "list of routes, see below", "",
                    "Other upstreams for some hosts and paths.", Feature::kRoutes},
                   read_routes},
};

}  // namespace

void read_gateway(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Gateway>(reader, entry, kGatewayFields, out.gateway.emplace());
}

void document_gateway(std::vector<SectionDoc>& out) {
  out.push_back(document<Gateway>("gateway", "", kGatewayFields));
  out.push_back(document<GatewayTimeouts>("gateway.timeouts", "", kTimeoutFields));
  out.push_back(document<Route>("gateway.routes[]", "", kRouteFields));
}

}  // namespace weir::policy
