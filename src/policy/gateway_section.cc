// `gateway`: the listener that forwards, and its timeouts. Where to: upstream_section.cc.

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

constexpr std::array kUpstreamTlsFields{
    Field<ClientTls>{{"ca", "path", "",
                      "What the upstream's certificate must be signed by; left out: one of the "
                      "system's authorities."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_path(r, e, t.ca); }},
    Field<ClientTls>{{"cert", "path", "", "The gateway's own certificate chain, PEM."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_path(r, e, t.cert); }},
    Field<ClientTls>{{"key", "path", "", "Its private key, PEM."},
                     [](Reader& r, const Entry& e, ClientTls& t) { read_path(r, e, t.key); }},
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

constexpr std::array<std::pair<std::string_view, AccessFormat>, 2> kAccessFormats{
    {{"combined", AccessFormat::kCombined}, {"json", AccessFormat::kJson}}};

constexpr std::array kAccessLogFields{
    Field<AccessLog>{{"file", "path", kRequired, "Where the lines go; they are appended."},
                     [](Reader& r, const Entry& e, AccessLog& log) {
                       if (read_path(r, e, log.file) && log.file.empty()) {
                         r.mistake(e.value->at,
                                   "file is empty, wants a path, or leave access_log out");
                       }
                     }},
    Field<AccessLog>{{"format", "combined or json", "combined", "How a line is written."},
                     [](Reader& r, const Entry& e, AccessLog& log) {
                       read_enum<AccessFormat>(r, e, kAccessFormats, log.format);
                     }},
    Field<AccessLog>{
        {"query", "true or false", "false",
         "Whether queries stand in it, which often hold secrets; that of Referer too."},
        [](Reader& r, const Entry& e, AccessLog& log) { read_bool(r, e, log.query); }},
};

void read_access_log(Reader& reader, const Entry& entry, Gateway& out) {
  AccessLog log;
  read_fields<AccessLog>(reader, entry, kAccessLogFields, log);
  out.access_log = std::move(log);
}

constexpr auto kGatewayFields = with_listener_fields<Gateway>(std::array{
    Field<Gateway>{{"upstream", "URL, a list of them, or a mapping, see below", "",
                    "Where admitted requests go: `http://host:port`, `https://host:port` or "
                    "`unix:///path`. May be left out where there are `routes`."},
                   [](Reader& r, const Entry& e, Gateway& g) { read_upstream(r, e, g.upstream); }},
    Field<Gateway>{
        {"routes", "list of routes, see below", "", "Other upstreams for some hosts and paths."},
        [](Reader& r, const Entry& e, Gateway& g) { read_routes(r, e, g.routes); }},
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
    Field<Gateway>{{"access_log", "a mapping, see below", "",
                    "A line for each request, and what was decided."},
                   read_access_log},
});

}  // namespace

void read_gateway(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Gateway>(reader, entry, kGatewayFields, out.gateway.emplace());
  const Node& section = *entry.value;
  if (section.kind != Node::Kind::kMapping || section.find("upstream") != nullptr ||
      section.find("routes") != nullptr) {
    return;
  }
  reader.mistake(entry.at,
                 "upstream is missing, it must be given where there are no routes: a URL such as "
                 "http://127.0.0.1:3000");
}

void document_gateway(std::vector<SectionDoc>& out) {
  out.push_back(document<Gateway>("gateway", "", kGatewayFields));
  document_upstreams(out);
  out.push_back(document<GatewayTimeouts>("gateway.timeouts", "", kTimeoutFields));
  out.push_back(document<ClientTls>("gateway.upstream_tls", "", kUpstreamTlsFields));
  out.push_back(document<AccessLog>("gateway.access_log", "", kAccessLogFields));
}

}  // namespace weir::policy
