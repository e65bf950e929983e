// `api`, `resp`, `grpc`, `admin`: small listeners, and what all of them share.

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
    Field<Api>{
        {"adhoc", "true or false", "false",
         "Callers may bring numbers of their own: `{\"key\":\"user:1\",\"rate\":\"10/60s\"}`."},
        [](Reader& r, const Entry& e, Api& a) { read_bool(r, e, a.adhoc); }},
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

constexpr std::array kRespFields{
    Field<Resp>{kListenKey,
                [](Reader& r, const Entry& e, Resp& o) { read_listen(r, e, o.listen); }},
    Field<Resp>{{"password", "text", "\"\"", "What clients send with AUTH.", Feature::kBuilt, true},
                [](Reader& r, const Entry& e, Resp& o) { read_token(r, e, o.password); }},
    Field<Resp>{kTlsKey, read_tls<Resp>},
};

// What read_renames needs of the policy beside its own section.
struct GrpcDraft {
  Grpc* out = nullptr;
  const std::vector<std::string>* declared = nullptr;
};

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

constexpr std::array kGrpcFields{
    Field<GrpcDraft>{kListenKey, [](Reader& r, const Entry& e,
                                    GrpcDraft& d) { read_listen(r, e, d.out->listen); }},
    Field<GrpcDraft>{{"attributes", "mapping of descriptor keys to attributes", "{}",
                      "Renames descriptor keys: `{ remote_address: ip }`."},
                     read_renames},
    Field<GrpcDraft>{
        {"atomic", "true or false", "false", "All descriptors of a call are charged, or none is."},
        [](Reader& r, const Entry& e, GrpcDraft& d) { read_bool(r, e, d.out->atomic); }},
    Field<GrpcDraft>{kTlsKey, read_tls<GrpcDraft>},
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
  Admin& admin = out.admin.emplace();
  const std::size_t before = reader.mistakes();
  read_fields<Admin>(reader, entry, kAdminFields, admin);
  const bool open = admin.token.empty() && !admin.listen.host.empty();
  if (reader.mistakes() == before && open && !is_loopback(admin.listen)) {
    reader.mistake(entry.at, "admin listens on " + admin.listen.to_string() +
                                 " without a token: whoever reaches it could see keys and change "
                                 "limits; set admin.token, or listen on 127.0.0.1");
  }
}

void read_resp(Reader& reader, const Entry& entry, Policy& out) {
  Resp& resp = out.resp.emplace();
  const std::size_t before = reader.mistakes();
  read_fields<Resp>(reader, entry, kRespFields, resp);
  if (reader.mistakes() == before && resp.password.empty() && !is_loopback(resp.listen)) {
    reader.doubt(entry.at,
                 "resp listens on " + resp.listen.to_string() +
                     " without a password: whoever reaches it can take tokens",
                 "set resp.password, or listen on 127.0.0.1");
  }
}

void read_grpc(Reader& reader, const Entry& entry, Policy& out) {
  GrpcDraft draft{&out.grpc.emplace(), &out.attributes};
  const std::size_t before = reader.mistakes();
  read_fields<GrpcDraft>(reader, entry, kGrpcFields, draft);
  if (reader.mistakes() == before && !is_loopback(out.grpc->listen)) {
    reader.doubt(entry.at,
                 "grpc listens on " + out.grpc->listen.to_string() +
                     ", and whoever reaches it can take tokens",
                 "listen on 127.0.0.1, or let only your proxies reach it");
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
