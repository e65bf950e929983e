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
  Parsed<Upstream> upstream = parse_upstream(*text);
  if (const auto* error = std::get_if<ScalarError>(&upstream)) {
    reader.mistake(entry, *error);
    return;
  }
  out.push_back(std::get<Upstream>(std::move(upstream)));
}

constexpr std::array kUpstreamTlsFields{
    Field<ClientTls>{{"ca", "path", "",
                      "What the upstream's certificate must be signed by; left out: one of the "
                      "system's authorities."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_text(r, e, t.ca); }},
    Field<ClientTls>{{"cert", "path", "", "The gateway's own certificate chain, PEM."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_text(r, e, t.cert); }},
    Field<ClientTls>{{"key", "path", "", "Its private key, PEM."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_text(r, e, t.key); }},
    Field<ClientTls>{
        {"server_name", "host name", "",
         "What the upstream's certificate must name; left out: the URL's host."},
        [](Reader& r, const Entry& e, ClientTls& t) { read_text(r, e, t.server_name); }},
};

void read_upstream_tls(Reader& reader, const Entry& entry, Gateway& out) {
  ClientTls& tls = out.upstream_tls;
  read_fields<ClientTls>(reader, entry, kUpstreamTlsFields, tls);
  if (tls.cert.empty() == tls.key.empty()) return;
  reader.mistake(entry.at, tls.cert.empty() ? "upstream_tls has a key and no cert, wants both"
                                            : "upstream_tls has a cert and no key, wants both");
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

constexpr auto kGatewayFields = with_listener_fields<Gateway>(std::array{
    Field<Gateway>{{"upstream", "URL, or a list of them (several: not yet)", kRequired,
                    "Where admitted requests go: `http://host:port`, `https://host:port` or "
                    "`unix:///path`."},
                   read_upstreams},
    Field<Gateway>{{"upstream_tls", "a mapping, see below", "", "TLS to an `https://` upstream."},
                   read_upstream_tls},
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
    Field<Gateway>{{"routes", "list of routes, see below", "",
                    "Other upstreams for some hosts and paths.", Feature::kRoutes},
                   read_routes},
});

}  // namespace

void read_gateway(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Gateway>(reader, entry, kGatewayFields, out.gateway.emplace());
}

void document_gateway(std::vector<SectionDoc>& out) {
  out.push_back(document<Gateway>("gateway", "", kGatewayFields));
  out.push_back(document<GatewayTimeouts>("gateway.timeouts", "", kTimeoutFields));
  out.push_back(document<ClientTls>("gateway.upstream_tls", "", kUpstreamTlsFields));
  out.push_back(document<Route>("gateway.routes[]", "", kRouteFields));
}

}  // namespace weir::policy
