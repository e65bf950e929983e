// `api`, `resp`, `grpc`, `admin`: small listeners, and what all of them share.

#include <algorithm>
#include <array>

#include "policy/listener_fields.h"
#include "policy/sections.h"

namespace weir::policy {
namespace {

constexpr std::array kCertificateFields{
    Field<Certificate>{{"cert", "path", kRequired, "The certificate chain, PEM."},
                       [](Reader& r, const Entry& e, Certificate& c) { read_path(r, e, c.cert); }},
    Field<Certificate>{{"key", "path", kRequired, "Its private key, PEM."},
                       [](Reader& r, const Entry& e, Certificate& c) { read_path(r, e, c.key); }},
};

void read_certificates(Reader& reader, const Entry& entry, Tls& out) {
  for (const Entry& item : read_items(reader, entry, "a list of { cert, key }")) {
    Certificate certificate;
    read_fields<Certificate>(reader, item, kCertificateFields, certificate);
    out.certificates.push_back(std::move(certificate));
  }
}

// The certificate of `tls` itself stands first.
constexpr std::array kTlsFields{
    Field<Tls>{{"cert", "path", kRequired, "The certificate chain, PEM."},
               [](Reader& r, const Entry& e, Tls& t) { read_path(r, e, t.certificates[0].cert); }},
    Field<Tls>{{"key", "path", kRequired, "Its private key, PEM."},
               [](Reader& r, const Entry& e, Tls& t) { read_path(r, e, t.certificates[0].key); }},
    Field<Tls>{{"client_ca", "path", "",
                "What clients' certificates must be signed by; left out: they need none."},
               [](Reader& r, const Entry& e, Tls& t) { read_path(r, e, t.client_ca); }},
    Field<Tls>{{"certificates", "list of { cert, key }", "",
                "Further ones: a client that names one of their hosts (SNI) gets it."},
               read_certificates},
};

constexpr KeyDoc kTokenKey{
    "token",         "text",
    "\"\"",          "What callers send as `Authorization: Bearer TOKEN`; empty for none.",
    Feature::kBuilt, true};

constexpr auto kApiFields = with_listener_fields<Api>(std::array{
    Field<Api>{kTokenKey, [](Reader& r, const Entry& e, Api& a) { read_token(r, e, a.token); }},
    Field<Api>{
        {"adhoc", "true or false", "false",
         "Callers may bring numbers of their own: `{\"key\":\"user:1\",\"rate\":\"10/60s\"}`."},
        [](Reader& r, const Entry& e, Api& a) { read_bool(r, e, a.adhoc); }},
    Field<Api>{
        {"id_lifetime", "duration from 1s to 30d", "15m",
         "How long a decision's `id` can settle or refund its cost. Each id that was used is "
         "remembered for so long."},
        [](Reader& r, const Entry& e, Api& a) {
          read_duration(r, e, a.id_lifetime, {std::chrono::seconds(1), std::chrono::days(30)});
        }},
});

constexpr auto kAdminFields = with_listener_fields<Admin>(std::array{
    Field<Admin>{kTokenKey, [](Reader& r, const Entry& e, Admin& a) { read_token(r, e, a.token); }},
    Field<Admin>{
        {"state", "path", "",
         "Keeps changes made through the admin API over a restart, in this file, which only weir's "
         "user can read. Read at the start."},
        [](Reader& r, const Entry& e, Admin& a) { read_path(r, e, a.state); }},
});

constexpr auto kRespFields = with_listener_fields<Resp>(std::array{
    Field<Resp>{{"password", "text", "\"\"", "What clients send with AUTH.", Feature::kBuilt, true},
                [](Reader& r, const Entry& e, Resp& o) { read_token(r, e, o.password); }},
});

// What read_renames needs of the policy beside its own section.
struct GrpcDraft {
  Grpc* out = nullptr;
  const std::vector<std::string>* declared = nullptr;
};

Listener& listener_of(GrpcDraft& draft) {
  return *draft.out;
}

// `attributes: { remote_address: ip }`
void read_renames(Reader& reader, const Entry& entry, GrpcDraft& draft) {
  const Node* mapping = read_mapping(reader, entry);
  if (mapping == nullptr) return;
  for (const Entry& rename : mapping->entries) {
    std::string name;
    if (!read_text(reader, rename, name)) continue;
    if (auto attribute = parse_attribute(name, *draft.declared)) {
      draft.out->attributes.insert_or_assign(rename.key, *std::move(attribute));
    } else {
      reader.mistake(rename.value->at,
                     rename.key + " is renamed to " + quote(name) +
                         ", which is no attribute: name a well-known one, or declare it under "
                         "`attributes`");
    }
  }
}

constexpr auto kGrpcFields = with_listener_fields<GrpcDraft>(std::array{
    Field<GrpcDraft>{
        kTokenKey, [](Reader& r, const Entry& e, GrpcDraft& d) { read_token(r, e, d.out->token); }},
    Field<GrpcDraft>{{"attributes", "mapping of descriptor keys to attributes", "{}",
                      "Renames descriptor keys: `{ remote_address: ip }`."},
                     read_renames},
    Field<GrpcDraft>{
        {"atomic", "true or false", "false", "All descriptors of a call are charged, or none is."},
        [](Reader& r, const Entry& e, GrpcDraft& d) { read_bool(r, e, d.out->atomic); }},
});

}  // namespace

void read_listen(Reader& reader, const Entry& entry, Listener& out) {
  const std::string* text = read_scalar(reader, entry, "host:port");
  if (text == nullptr) return;
  Parsed<Address> parsed = parse_address(*text);
  if (const auto* error = std::get_if<ScalarError>(&parsed)) {
    reader.mistake(entry, *error);
  } else {
    out.listen = std::get<Address>(std::move(parsed));
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

void read_tls(Reader& reader, const Entry& entry, Listener& out) {
  Tls& tls = out.tls.emplace();
  tls.certificates.emplace_back();
  read_fields<Tls>(reader, entry, kTlsFields, tls);
}

void read_proxy_protocol(Reader& reader, const Entry& entry, Listener& out) {
  read_bool(reader, entry, out.proxy_protocol);
}

void read_max_connections(Reader& reader, const Entry& entry, Listener& out) {
  read_number(reader, entry, out.max_connections, {1, 1'000'000});
}

void read_max_per_client(Reader& reader, const Entry& entry, Listener& out) {
  read_number(reader, entry, out.max_connections_per_client, {1, 1'000'000});
}

void read_api(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Api>(reader, entry, kApiFields, out.api.emplace());
}

void read_admin(Reader& reader, const Entry& entry, Policy& out) {
  Admin& admin = out.admin.emplace();
  const std::size_t before = reader.mistakes();
  read_fields<Admin>(reader, entry, kAdminFields, admin);
  const bool open = admin.token.empty() && !admin.checks_clients() && !admin.listen.host.empty();
  if (reader.mistakes() == before && open && !is_loopback(admin.listen)) {
    reader.mistake(entry.at,
                   "admin listens on " + admin.listen.to_string() +
                       " without a token: whoever reaches it could see keys and change "
                       "limits; set admin.token or admin.tls.client_ca, or listen on 127.0.0.1");
  }
}

void read_resp(Reader& reader, const Entry& entry, Policy& out) {
  Resp& resp = out.resp.emplace();
  const std::size_t before = reader.mistakes();
  read_fields<Resp>(reader, entry, kRespFields, resp);
  const bool open = resp.password.empty() && !resp.checks_clients();
  if (reader.mistakes() == before && open && !is_loopback(resp.listen)) {
    reader.doubt(entry.at,
                 "resp listens on " + resp.listen.to_string() +
                     " without a password: whoever reaches it can take tokens",
                 "set resp.password or resp.tls.client_ca, or listen on 127.0.0.1");
  }
}

void read_grpc(Reader& reader, const Entry& entry, Policy& out) {
  GrpcDraft draft{&out.grpc.emplace(), &out.attributes};
  const std::size_t before = reader.mistakes();
  read_fields<GrpcDraft>(reader, entry, kGrpcFields, draft);
  const bool open = out.grpc->token.empty() && !out.grpc->checks_clients();
  if (reader.mistakes() == before && open && !is_loopback(out.grpc->listen)) {
    reader.doubt(entry.at,
                 "grpc listens on " + out.grpc->listen.to_string() +
                     " without a token: whoever reaches it can take tokens",
                 "set grpc.token or grpc.tls.client_ca, or listen on 127.0.0.1");
  }
}

void document_listeners(std::vector<SectionDoc>& out) {
  out.push_back(document<Api>("api", "", kApiFields));
  out.push_back(document<Resp>("resp", "", kRespFields));
  out.push_back(document<GrpcDraft>("grpc", "", kGrpcFields));
  out.push_back(document<Admin>("admin", "", kAdminFields));
  out.push_back(document<Tls>("tls (of every listener)", "", kTlsFields));
}

}  // namespace weir::policy
