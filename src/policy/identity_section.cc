// `identity`: where a request's attributes come from.

#include <array>
#include <cctype>

#include "policy/sections.h"

namespace weir::policy {
namespace {

// "kind:name" into its halves; no name where there is no colon.
std::pair<std::string_view, std::string_view> split_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// The name in "header:X-Plan", checked and in the letters in which it is compared.
bool read_source_name(Reader& reader, const Entry& entry, std::string_view kind,
                      std::string_view name, std::string& out) {
  const auto attribute = parse_attribute(std::string(kind) + "." + std::string(name), {});
  if (!attribute) {
    reader.mistake(entry.value->at, entry.key + " names no " + std::string(kind) + ", wants " +
                                        std::string(kind) + ":NAME");
    return false;
  }
  out = attribute->name;
  return true;
}

constexpr std::array<std::pair<std::string_view, ClientIpSource>, 5> kClientIpWords{
    {{"x-forwarded-for", ClientIpSource::kXForwardedFor},
     {"forwarded", ClientIpSource::kForwarded},
     {"x-real-ip", ClientIpSource::kXRealIp},
     {"proxy-protocol", ClientIpSource::kProxyProtocol},
     {"peer", ClientIpSource::kPeer}}};

void read_client_ip(Reader& reader, const Entry& entry, Identity& out) {
  constexpr std::string_view kWants =
      "x-forwarded-for, forwarded, x-real-ip, header:NAME, proxy-protocol or peer";
  const std::string* text = read_scalar(reader, entry, kWants);
  if (text == nullptr) return;
  const auto [kind, name] = split_source(*text);
  if (kind == "header") {
    if (read_source_name(reader, entry, kind, name, out.client_ip_header)) {
      out.client_ip = ClientIpSource::kHeader;
    }
    return;
  }
  std::vector<std::string_view> words;
  for (const auto& [word, source] : kClientIpWords) words.push_back(word);
  words.push_back("header:NAME");
  const int index = read_word(reader, entry, words);
  if (index < 0 || words[static_cast<std::size_t>(index)] == "header:NAME") return;
  out.client_ip = kClientIpWords[static_cast<std::size_t>(index)].second;
}

void read_proxies(Reader& reader, const Entry& entry, Identity& out) {
  constexpr std::string_view kWants = "a block such as 10.0.0.0/8, with no bits beyond the prefix";
  for (const Entry& item : read_items(reader, entry, "a list of blocks, such as [10.0.0.0/8]")) {
    const std::string* text = read_scalar(reader, item, kWants);
    if (text == nullptr) continue;
    const auto block = IpPrefix::parse(*text);
    if (block) {
      out.trusted_proxies.push_back(*block);
    } else {
      reader.mistake(item.at, "trusted_proxies has " + quote(item.value->shown()) + ", wants " +
                                  std::string(kWants));
    }
  }
}

void read_attribute_source(Reader& reader, const Entry& entry, AttributeSource& out) {
  constexpr std::string_view kWants = "header:NAME, cookie:NAME, query:NAME or jwt:CLAIM";
  const std::string* text = read_scalar(reader, entry, kWants);
  if (text == nullptr) return;
  const auto [kind, name] = split_source(*text);
  using Kind = AttributeSource::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kKinds{
      {{"header", Kind::kHeader}, {"cookie", Kind::kCookie}, {"query", Kind::kQuery}}};
  for (const auto& [word, value] : kKinds) {
    if (kind != word) continue;
    if (read_source_name(reader, entry, kind, name, out.name)) out.kind = value;
    return;
  }
  if (kind != "jwt") {
    reader.mistake(entry.value->at, entry.key + " is " + quote(entry.value->shown()) + ", wants " +
                                        std::string(kWants));
    return;
  }
  if (name.empty()) reader.mistake(entry.value->at, entry.key + " names no claim, wants jwt:CLAIM");
  out = {Kind::kJwt, std::string(name)};
}

void read_ipv4_prefix(Reader& reader, const Entry& entry, Identity& out) {
  if (read_number(reader, entry, out.ipv4_prefix, {0, 32}) && out.ipv4_prefix == 0) {
    reader.doubt(entry.value->at, "ipv4_prefix is 0: all of IPv4 is one client");
  }
}

void read_ipv6_prefix(Reader& reader, const Entry& entry, Identity& out) {
  if (read_number(reader, entry, out.ipv6_prefix, {0, 128}) && out.ipv6_prefix == 0) {
    reader.doubt(entry.value->at, "ipv6_prefix is 0: all of IPv6 is one client");
  }
}

void read_jwt_algorithms(Reader& reader, const Entry& entry, Jwt& out) {
  static constexpr std::array<std::string_view, 9> kNames{
      "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512"};
  const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  for (const Entry& item : read_items(reader, entry, "a list such as [RS256]")) {
    const int index = read_word(reader, item, names);
    if (index >= 0) out.algorithms.emplace_back(names[static_cast<std::size_t>(index)]);
  }
  if (out.algorithms.empty() && entry.value->kind == Node::Kind::kSequence) {
    reader.mistake(entry.value->at,
                   "algorithms is empty: no token could be right; name those "
                   "that your tokens are signed by, such as [RS256]");
  }
}

constexpr std::array kJwtFields{
    Field<Jwt>{{"keys", "path", kRequired,
                "The file with the keys that tokens are checked by: public keys or certificates "
                "(PEM), a key set (JWKS), or one secret. Read again when it changes."},
               [](Reader& r, const Entry& e, Jwt& j) { read_path(r, e, j.keys); }},
    Field<Jwt>{{"algorithms", "list of names, such as RS256", kRequired,
                "The algorithms that a token may be signed by; never none."},
               read_jwt_algorithms},
    Field<Jwt>{{"issuer", "text", "", "What `iss` must be."},
               [](Reader& r, const Entry& e, Jwt& j) { read_text(r, e, j.issuer); }},
    Field<Jwt>{{"audience", "text", "", "What `aud` must hold."},
               [](Reader& r, const Entry& e, Jwt& j) { read_text(r, e, j.audience); }},
};

void read_jwt(Reader& reader, const Entry& entry, Identity& out) {
  read_fields<Jwt>(reader, entry, kJwtFields, out.jwt.emplace());
}

bool is_jwt(const AttributeSource& source) {
  return source.kind == AttributeSource::Kind::kJwt;
}

constexpr std::string_view kSourceType = "header:NAME, cookie:NAME, query:NAME or jwt:CLAIM";

constexpr std::array kIdentityFields{
    Field<Identity>{
        {"client_ip", "x-forwarded-for, forwarded, x-real-ip, header:NAME, proxy-protocol or peer",
         "x-forwarded-for",
         "The one place that the client's address is read from; the headers only where "
         "the peer is a trusted proxy."},
        read_client_ip},
    Field<Identity>{{"trusted_proxies", "list of addresses and blocks", "[]",
                     "Whose headers are believed. The chain is walked from the right to the first "
                     "hop that is not in here."},
                    read_proxies},
    Field<Identity>{{"ipv4_prefix", "whole number, 0 to 32", "32",
                     "How many bits of an IPv4 address are the client."},
                    read_ipv4_prefix},
    Field<Identity>{{"ipv6_prefix", "whole number, 0 to 128", "64",
                     "How many bits of an IPv6 address are the client; one customer has a whole "
                     "/64."},
                    read_ipv6_prefix},
    Field<Identity>{
        {"user", kSourceType, "header:X-User-Id", "Where `user` comes from."},
        [](Reader& r, const Entry& e, Identity& i) { read_attribute_source(r, e, i.user); }},
    Field<Identity>{
        {"tier", kSourceType, "header:X-Plan", "Where `tier` comes from."},
        [](Reader& r, const Entry& e, Identity& i) { read_attribute_source(r, e, i.tier); }},
    Field<Identity>{
        {"trust_clients", "true or false", "false",
         "Believe user and tier headers from anybody, not from trusted proxies only."},
        [](Reader& r, const Entry& e, Identity& i) { read_bool(r, e, i.trust_clients); }},
    Field<Identity>{
        {"jwt", "a mapping, see below", "",
         "How the signature of a JWT is checked; `user` and `tier` may come from its claims."},
        read_jwt},
};

}  // namespace

void read_identity(Reader& reader, const Entry& entry, Policy& out) {
  read_fields<Identity>(reader, entry, kIdentityFields, out.identity);
  const Identity& identity = out.identity;
  const bool asked = is_jwt(identity.user) || is_jwt(identity.tier);
  if (asked && !identity.jwt) {
    reader.mistake(entry.at,
                   "identity reads a claim of a JWT and does not say how one is checked; "
                   "add jwt: { keys: FILE, algorithms: [RS256] }");
  }
  if (identity.jwt && !asked) {
    reader.doubt(entry.at, "identity.jwt is never used: neither user nor tier is jwt:CLAIM");
  }
}

void document_identity(std::vector<SectionDoc>& out) {
  out.push_back(document<Identity>("identity", "", kIdentityFields));
  out.push_back(document<Jwt>("identity.jwt", "", kJwtFields));
}

}  // namespace weir::policy
