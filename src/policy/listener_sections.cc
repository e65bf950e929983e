// `api`, `resp`, `grpc`, `admin`, `metrics`: small listeners, and what all of them share.

#include <algorithm>
#include <array>

#include "policy/listener_fields.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

struct Tls {
  std::string cert;
  std::string key;
  std::string client_ca;
};

constexpr std::array kTlsFields{
    Field<Tls>{{"cert", "path", kRequired, "The certificate chain, PEM."},
               [](Reader& r, const Entry& e, Tls& t) { read_text(r, e, t.cert); }},
    Field<Tls>{{"key", "path", kRequired, "Its private key, PEM."},
               [](Reader& r, const Entry& e, Tls& t) { read_text(r, e, t.key); }},
    Field<Tls>{{"client_ca", "path", "", "What clients' certificates must be signed by."},
               [](Reader& r, const Entry& e, Tls& t) { read_text(r, e, t.client_ca); }},
};

constexpr KeyDoc kListenKey{"listen", "host:port", kRequired, "Where callers connect."};
constexpr KeyDoc kTokenKey{
    "token",         "text",
    "\"\"",          "What callers send as `Authorization: Bearer TOKEN`; empty for none.",
    Feature::kBuilt, true};
constexpr KeyDoc kTlsKey{"tls", "a mapping, see below", "", "Serves TLS.", Feature::kTls};

constexpr std::array kApiFields{
    Field<Api>{kListenKey, [](Reader& r, const Entry& e, Api& a) { read_listen(r, e, a.listen); }},
    Field<Api>{kTokenKey, [](Reader& r, const Entry& e, Api& a) { read_token(r, e, a.token); }},
    Field<Api>{kTlsKey, read_tls<Api>},
};

void read_state(Reader& reader, const Entry& entry, Admin&) {
  std::string unused;
  read_text(reader, entry, unused);
}

constexpr std::array kAdminFields{
    Field<Admin>{kListenKey,
                 [](Reader& r, const Entry& e, Admin& a) { read_listen(r, e, a.listen); }},
    Field<Admin>{kTokenKey, [](Reader& r, const Entry& e, Admin& a) { read_token(r, e, a.token); }},
    Field<Admin>{
        {"state", "path", "", "Keeps changes made through the admin API.", Feature::kAdminState},
        read_state},
    Field<Admin>{kTlsKey, read_tls<Admin>},
};

struct Resp {
  Address listen;
  std::string password;
};

constexpr std::array kRespFields{
    Field<Resp>{kListenKey,
                [](Reader& r, const Entry& e, Resp& o) { read_listen(r, e, o.listen); }},
    Field<Resp>{{"password", "text", "\"\"", "What clients send with AUTH.", Feature::kBuilt, true},
                [](Reader& r, const Entry& e, Resp& o) { read_token(r, e, o.password); }},
    Field<Resp>{kTlsKey, read_tls<Resp>},
};

struct Grpc {
  Address listen;
  bool atomic = false;
};

// `attributes: { remote_address: ip }`. What the names may be is the listener's to check.
void read_renames(Reader& reader, const Entry& entry, Grpc&) {
  const Node* mapping = read_mapping(reader, entry);
  if (mapping == nullptr) return;
  for (const Entry& rename : mapping->entries) {
    std::string unused;
    read_text(reader, rename, unused);
  }
}

constexpr std::array kGrpcFields{
    Field<Grpc>{kListenKey,
                [](Reader& r, const Entry& e, Grpc& o) { read_listen(r, e, o.listen); }},
    Field<Grpc>{{"attributes", "mapping of descriptor keys to attributes", "{}",
                 "Renames descriptor keys: `{ remote_address: ip }`."},
                read_renames},
    Field<Grpc>{
        {"atomic", "true or false", "false", "All descriptors of a call are charged, or none is."},
        [](Reader& r, const Entry& e, Grpc& o) { read_bool(r, e, o.atomic); }},
    Field<Grpc>{kTlsKey, read_tls<Grpc>},
};

struct Metrics {
  std::uint32_t top_keys = 50;
  int keys = 0;
};

void read_key_form(Reader& reader, const Entry& entry, Metrics& out) {
  out.keys = read_word(reader, entry, {"plain", "hashed", "off"});
}

constexpr std::array kMetricsFields{
    Field<Metrics>{{"top_keys", "whole number, 0 to 1000", "50",
                    "How many of the most refused keys are told."},
                   [](Reader& r, const Entry& e, Metrics& m) {
                     read_number(r, e, m.top_keys, {0, 1000});
                   }},
    Field<Metrics>{{"keys", "plain, hashed or off", "plain", "How they are told."}, read_key_form},
};

}  // namespace

void read_listen(Reader& reader, const Entry& entry, Address& out) {
  const std::string* text = read_scalar(reader, entry, "host:port");
  if (text == nullptr) return;
  if (text->starts_with("unix:") || text->starts_with('/')) {
    reader.refuse_unbuilt(Feature::kUnixSockets, entry.value->at);
    return;
  }
  Parsed<Address> parsed = parse_address(*text);
  if (const auto* error = std::get_if<ScalarError>(&parsed)) {
    reader.mistake(entry, *error);
  } else {
    out = std::get<Address>(std::move(parsed));
  }
}

void read_token(Reader& reader, const Entry& entry, std::string& out) {
  const std::string* text = read_scalar(reader, entry, "text");
  if (text == nullptr) return;
  const bool right =
      std::all_of(text->begin(), text->end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!right || text->size() > 1024) {
    reader.mistake(entry.value->at, entry.key +
                                        " has a blank or a character that is not ASCII, or more "
                                        "than 1024 of them: wants printable ASCII");
    return;
  }
  out = *text;
}

void read_tls(Reader& reader, const Entry& entry) {
  Tls unused;
  read_fields<Tls>(reader, entry, kTlsFields, unused);
}

void read_api(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Api>(reader, entry, kApiFields, out.api.emplace());
}

void read_admin(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Admin>(reader, entry, kAdminFields, out.admin.emplace());
}

void read_resp(Reader& reader, const Entry& entry, Policy&) {
  Resp unused;
  read_fields<Resp>(reader, entry, kRespFields, unused);
}

void read_grpc(Reader& reader, const Entry& entry, Policy&) {
  Grpc unused;
  read_fields<Grpc>(reader, entry, kGrpcFields, unused);
}

void read_metrics(Reader& reader, const Entry& entry, Policy&) {
  Metrics unused;
  read_fields<Metrics>(reader, entry, kMetricsFields, unused);
}

void document_listeners(std::vector<SectionDoc>& out) {
  out.push_back(document<Api>("api", "", kApiFields));
  out.push_back(document<Resp>("resp", "", kRespFields));
  out.push_back(document<Grpc>("grpc", "", kGrpcFields));
  out.push_back(document<Admin>("admin", "", kAdminFields));
  out.push_back(document<Metrics>("metrics", "", kMetricsFields));
  out.push_back(document<Tls>("tls (of every listener)", "", kTlsFields));
}

}  // namespace weir::policy
